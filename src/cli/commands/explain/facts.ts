import type {
  AdminSnapshot,
  AdminVolume,
  AuditEntry,
  ClusterState,
  Finding,
  PoolState,
  Queue,
  RunningOperation,
} from '../../../api/admin.ts';
import { toAge, toQuota } from '../../output/values.ts';
import { adviseFaulty, faultOf } from '../../pool-health.ts';
import type { RefusedTokens } from '../../refused-tokens.ts';
import type { CurrentHealth } from '../../related.ts';

/** One reason why a volume or snapshot is not ready, or one fact about it, and the remedy. */
export type Advice = {
  /** True for a reason, false for a fact that delays nothing. */
  readonly isWaiting: boolean;
  readonly what: string;
  readonly todo?: string;
};

/** A volume or a snapshot, and everything that can delay it. */
export type Facts = {
  readonly id: string;
  readonly nowMs: number;
  readonly volume?: AdminVolume | undefined;
  readonly snapshot?: AdminSnapshot | undefined;
  readonly operation?: RunningOperation | undefined;
  readonly pool?: PoolState | undefined;
  /** The pools that its cluster may use, for a resource that does not exist. */
  readonly pools?: readonly PoolState[];
  /** The cluster named in the id, enrolled or not. */
  readonly cluster?: ClusterState | undefined;
  /** The refused tokens with the name of that cluster. */
  readonly refusedTokens?: RefusedTokens | undefined;
  /** The finding that a storage has a resource with this id, which the store does not know. */
  readonly orphan?: Finding | undefined;
  /** Ids of nodes that have the volume attached and that their cluster does not report. */
  readonly unknownNodes: readonly string[];
  readonly health?: CurrentHealth | undefined;
  /** The queue of its cluster at its pool. */
  readonly queue?: Queue | undefined;
  /** Its operations that wait for a slot at a pool. */
  readonly waits?: readonly QueueWait[];
  /** Its newest entry in the audit log. */
  readonly last?: AuditEntry | undefined;
};

type QueueWait = { readonly queue: Queue; readonly wait: NonNullable<Queue['waitingOperations']>[number] };

/** Makes a reason why something waits. */
export const reason = (what: string, todo?: string): Advice => ({
  isWaiting: true,
  what,
  ...(todo !== undefined && { todo }),
});
/** Makes a fact that delays nothing. */
export const fact = (what: string, todo?: string): Advice => ({
  isWaiting: false,
  what,
  ...(todo !== undefined && { todo }),
});

/** Reports the retirement of a cluster. */
export function retirementAdvice({ cluster, nowMs }: Facts): readonly Advice[] {
  if (cluster?.retiredSince === undefined) return [];
  const age = toAge(nowMs - Date.parse(cluster.retiredSince));
  return [
    reason(
      `cluster "${cluster.id}" has been retired for ${age}: its requests are refused, and it gets no volumes, snapshots or attachments`,
      `to end this: fairlead admin retire-cluster ${cluster.id} --end; to give a volume to another cluster: fairlead admin transfer`,
    ),
  ];
}

/** Reports the quotas of a cluster that leave nothing. */
export function usedUp({ cluster }: Facts): readonly Advice[] {
  return (cluster?.quotas ?? [])
    .filter(isUsedUp)
    .map(quota =>
      reason(
        `cluster "${cluster?.id}" has used up its quota (${toQuota(quota)}) and cannot create more`,
        'raise the quota in gateway.yaml, or delete volumes or snapshots',
      ),
    );
}

export function isUsedUp({ used, limit }: ClusterState['quotas'][number]): boolean {
  return used >= limit;
}

/** Names a pool whose storage fails, how and since when, with the storage's last words. */
export function storageAdvice(pool: PoolState): Advice | undefined {
  const { id, state } = pool;
  const fault = faultOf(pool);
  if (fault === undefined) return undefined;
  if (state === 'waiting')
    return reason(`pool "${id}" waits for its storage: ${fault}`, 'the gateway tries again every 2 s');
  return reason(`pool "${id}": ${fault}`, adviseFaulty(pool));
}
