import type {
  AdminSnapshot,
  AdminVolume,
  AuditEntry,
  ClusterState,
  PoolState,
  Queue,
  RunningOperation,
} from '../../../api/admin.ts';
import { clusterOf } from '../../../api/ids.ts';
import { problemTable } from '../../../api/problem.ts';
import { toAge, toQuota } from '../../output/values.ts';
import { faultOf, usedOf } from '../../pool-health.ts';
import type { CurrentHealth } from '../describe.ts';

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
  /** Ids of nodes that have the volume attached and that their cluster does not report. */
  readonly unknownNodes: readonly string[];
  readonly health?: CurrentHealth | undefined;
  /** The queue of its cluster at its pool. */
  readonly queue?: Queue | undefined;
  /** Its newest entry in the audit log. */
  readonly last?: AuditEntry | undefined;
};

/** Lists the reasons for waiting and other facts, the likeliest cause first. */
export function explain(facts: Facts): readonly Advice[] {
  const { id, volume, snapshot } = facts;
  const found = [
    ...(volume || snapshot ? retirementAdvice(facts) : missingAdvice(facts)),
    ...operationAdvice(facts),
    ...poolAdvice(facts),
    ...stateAdvice(facts),
    ...attachmentAdvice(facts),
    ...grantAdvice(facts),
    ...queueAdvice(facts),
    ...quotaAdvice(facts),
    ...healthAdvice(facts),
    ...auditLogAdvice(facts),
  ];
  if (found.some(({ isWaiting }) => isWaiting)) return found;
  const kind = volume ? 'volume' : 'snapshot';
  return [
    {
      isWaiting: false,
      what: `${kind} "${id}" waits for nothing: it is ${volume?.state ?? snapshot?.state}`,
    },
    ...found,
  ];
}

const reason = (what: string, todo?: string): Advice => ({
  isWaiting: true,
  what,
  ...(todo !== undefined && { todo }),
});
const fact = (what: string, todo?: string): Advice => ({
  isWaiting: false,
  what,
  ...(todo !== undefined && { todo }),
});

function missingAdvice(facts: Facts): readonly Advice[] {
  const { id, cluster, pools = [], last } = facts;
  const owner = clusterOf(id);
  if (owner === undefined)
    return [
      reason(
        `"${id}" is not an id`,
        'an id is CLUSTER.NAME, such as east.pvc-1; list the ids with fairlead get volumes',
      ),
    ];
  if (cluster?.retiredSince !== undefined)
    return [reason(`there is neither a volume nor a snapshot "${id}"`), ...retirementAdvice(facts)];
  if (!cluster?.isEnrolled)
    return [
      reason(
        `there is no "${id}", and cluster "${owner}" is not enrolled`,
        `run fairlead enroll ${owner}, and add the entry that it prints to gateway.yaml, below clusters`,
      ),
    ];
  const missing = `there is neither a volume nor a snapshot "${id}"`;
  const causes = [
    ...keyAdvice(cluster),
    ...pools.flatMap(pool => storageAdvice(pool) ?? []),
    ...usedUp(facts),
  ];
  if (causes.length > 0) return [reason(missing), ...causes];
  // The failure itself follows as a fact.
  if (last && last.code !== 'OK') return [reason(missing)];
  return [
    reason(
      missing,
      last
        ? `its last change was ${last.operation} by ${last.actor} at ${last.at}`
        : "the cluster has not requested it: see the log of the cluster's controller",
    ),
  ];
}

/** Reports the retirement of a cluster. */
function retirementAdvice({ cluster, nowMs }: Facts): readonly Advice[] {
  if (cluster?.retiredSince === undefined) return [];
  const age = toAge(nowMs - Date.parse(cluster.retiredSince));
  return [
    reason(
      `cluster "${cluster.id}" has been retired for ${age}: its requests are refused, and it gets no volumes, snapshots or attachments`,
      `to end this: fairlead admin retire-cluster ${cluster.id} --end; to give a volume to another cluster: fairlead admin transfer`,
    ),
  ];
}

/** Reports the faults of a cluster's keys. They are the reason why its requests are refused. */
function keyAdvice({ id, keyFaults = [] }: ClusterState): readonly Advice[] {
  return keyFaults.map(fault =>
    reason(
      `tokens of cluster "${id}" are refused: ${fault}`,
      'mend the file on the gateway; it is read again within 2 s',
    ),
  );
}

/** Reports the quotas of a cluster that leave nothing. */
function usedUp({ cluster }: Facts): readonly Advice[] {
  return (cluster?.quotas ?? [])
    .filter(({ used, limit }) => used >= limit)
    .map(quota =>
      reason(
        `cluster "${cluster?.id}" has used up its quota (${toQuota(quota)}) and cannot create more`,
        'raise the quota in gateway.yaml, or delete volumes or snapshots',
      ),
    );
}

function operationAdvice({ operation, nowMs }: Facts): readonly Advice[] {
  if (!operation) return [];
  const { kind, resourceId, operation: name, since, until, holder } = operation;
  const [age, leftMs] = [toAge(nowMs - Date.parse(since)), Date.parse(until) - nowMs];
  const [resource, gateway] = [`${kind} "${resourceId}"`, `gateway process ${holder.slice(0, 8)}`];
  if (leftMs > 0)
    return [
      reason(
        `${name} has been running on ${resource} for ${age} in ${gateway}`,
        'wait for its end: the call that started it, and each retry, waits too',
      ),
    ];
  return [
    reason(
      `${name} started on ${resource} ${age} ago in ${gateway}, which no longer renews its claim`,
      'that process has died or is paused; the next call, or a sweep within 15 s, continues the operation if its intent was recorded; otherwise its claim is removed later',
    ),
  ];
}

function poolAdvice({ pool, volume, snapshot }: Facts): readonly Advice[] {
  const name = volume?.pool ?? snapshot?.pool;
  if (name === undefined) return [];
  if (!pool) return [reason(`pool "${name}" is not configured`, `put pools.${name} back into gateway.yaml`)];
  const { state } = pool;
  const fault = storageAdvice(pool);
  if (fault) return [fault];
  const used = usedOf(pool) ?? 0;
  const full =
    used >= 95
      ? [
          fact(
            `${used}% of pool "${name}" is reserved`,
            'delete volumes or snapshots, or enlarge the storage',
          ),
        ]
      : [];
  return state === 'removed'
    ? [fact(`pool "${name}" was removed from gateway.yaml: it takes no new volumes`), ...full]
    : full;
}

/** Names a pool whose storage does not answer or fails, with the storage's last words. */
function storageAdvice(pool: PoolState): Advice | undefined {
  const { id, state, waitingFor, answers } = pool;
  if (state === 'waiting')
    return reason(`pool "${id}" waits for its storage: ${waitingFor}`, 'the gateway tries again every 2 s');
  const fault = faultOf(pool);
  if (fault === undefined) return undefined;
  const what = answers === false ? 'does not answer' : 'fails';
  return reason(
    `the storage of pool "${id}" ${what}: ${fault}`,
    `check the storage; the clusters try each call again, so the gateway needs no repair; more: fairlead describe pool ${id}`,
  );
}

function stateAdvice({ id, volume, snapshot, operation }: Facts): readonly Advice[] {
  const subject = volume ?? snapshot;
  if (!subject) return [];
  const kind = volume ? 'volume' : 'snapshot';
  const { state } = subject;
  const idle = operation ? '' : ', and no gateway is working on it';
  const todo =
    'the next call of the cluster, or a sweep within 15 s, continues it; to continue now: fairlead admin repair --yes';
  if (state === 'creating') return [reason(`${kind} "${id}" is not created yet${idle}`, todo)];
  if (state === 'deleting') return [reason(`${kind} "${id}" is not deleted yet${idle}`, todo)];
  if (state === 'processing')
    return [reason(`snapshot "${id}" is taken but not ready to use`, 'wait for its storage to finish it')];
  if (volume?.state === 'deleted')
    return [
      reason(
        `volume "${id}" is deleted, and can be restored until ${volume.restorableUntil}`,
        `to restore it: fairlead admin restore ${id}; until that time its name stays taken`,
      ),
    ];
  return (volume?.pending ?? []).map(pending =>
    reason(`the ${pending} of volume "${id}" is not finished${idle}`, todo),
  );
}

function attachmentAdvice({ volume, unknownNodes, operation }: Facts): readonly Advice[] {
  return (volume?.attachments ?? []).map(({ cluster, nodeId, state, readonly }) => {
    const node = `node "${nodeId}" of cluster "${cluster}"`;
    const lost = unknownNodes.includes(nodeId)
      ? `cluster "${cluster}" no longer reports this node: if it is off for good, delete its VolumeAttachment`
      : undefined;
    if (state === 'attached')
      return fact(
        `volume "${volume?.id}" is attached to ${node}${readonly ? ', read-only' : ''}`,
        lost ??
          (readonly
            ? undefined
            : 'another node gets it after it is detached there, unless its access mode lets several nodes write'),
      );
    const idle = operation ? '' : ', and no gateway is working on that';
    const verb = state === 'attaching' ? 'attached to' : 'detached from';
    return reason(
      `volume "${volume?.id}" is not ${verb} ${node} yet${idle}`,
      lost ?? "the cluster's next call, or a sweep, continues it",
    );
  });
}

/** Lists shares that the other cluster has not accepted. */
function grantAdvice({ volume }: Facts): readonly Advice[] {
  const owner = volume?.cluster;
  return (volume?.grants ?? [])
    .filter(({ isAccepted }) => isAccepted === false)
    .map(({ cluster, access }) =>
      fact(
        `volume "${volume?.id}" is shared with cluster "${cluster}", which does not accept shares of cluster "${owner}" and so neither sees nor attaches it`,
        `add "${owner}" to clusters.${cluster}.sharesFrom of gateway.yaml, or run fairlead admin grant ${volume?.id} ${cluster} --access ${access}`,
      ),
    );
}

/** Reports the queue as a fact, not as a reason: queued calls have recorded nothing, so their volumes are unknown. */
function queueAdvice({ queue }: Facts): readonly Advice[] {
  if (!queue || queue.waiting === 0) return [];
  const { cluster, pool, waiting, running, limit, oldestWaitMs } = queue;
  const work = waiting === 1 ? '1 operation waits' : `${waiting} operations wait`;
  return [
    fact(
      `${work} for a slot of cluster "${cluster}" at pool "${pool}", the first for ${toAge(oldestWaitMs)}; ${running} run`,
      `the pool now runs at most ${limit} operations of all clusters at a time; watch the queue with fairlead top`,
    ),
  ];
}

/** Reports used-up quotas of an existing resource's cluster, which delay nothing that exists. */
function quotaAdvice(facts: Facts): readonly Advice[] {
  if (!facts.volume && !facts.snapshot) return [];
  return usedUp(facts).map(({ what, todo }) => fact(what, todo));
}

/** Reports the newest entry of the audit log, if it is a failure. */
function auditLogAdvice({ last, nowMs }: Facts): readonly Advice[] {
  if (!last || last.code === 'OK') return [];
  const { operation, code, detail = problemTable[code].title, actor, at, requestId, about, count = 1 } = last;
  const call = about === undefined ? operation : `${operation} (${about})`;
  const age = toAge(nowMs - Date.parse(at));
  const logged =
    requestId === undefined ? undefined : `find it in the gateway's log by request id ${requestId}`;
  const times = count > 1 ? ` (${count} such refusals of ${actor} in one hour)` : '';
  return [
    fact(`the last call, ${call} by ${actor} ${age} ago, ended with ${code}: ${detail}${times}`, logged),
  ];
}

function healthAdvice({ health }: Facts): readonly Advice[] {
  if (!health || 'unknown' in health) return [];
  return health.entries.map(({ status, reason: cause, message }) =>
    reason(`the storage reports ${status} (${cause}): ${message}`),
  );
}
