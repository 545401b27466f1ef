import { clusterOf } from '../src/api/ids.ts';
import { asProblem, problemTable } from '../src/api/problem.ts';
import type { Log } from '../src/lib/log.ts';
import type { Services } from './services.ts';
import type { Engine } from './store.ts';
import { findUnfinishedAttachments } from './tables/attachments.ts';
import { type GrantRecord, listRevoking } from './tables/grants.ts';
import { pruneAuditLog } from './tables/audit-log.ts';
import { listUnfinished, type Resource, type UnfinishedResource } from './tables/claims.ts';
import { timeSeenBefore } from './tables/clock.ts';
import { groupTable } from './tables/groups.ts';
import { readAllInPieces } from './tables/paging.ts';
import { findMembers, snapshotTable } from './tables/snapshots.ts';
import { volumeTable } from './tables/volumes.ts';
import type { Cluster } from './callers/cluster.ts';
import { createClock } from './operations/clock.ts';
import { defaultLeaseMs } from './operations/operation.ts';

type RecoveryOptions = {
  readonly engine: Engine;
  readonly services: Services;
  readonly log: Log;
  readonly leaseMs?: number | undefined;
  /** Age at which an entry leaves the audit log, in milliseconds; absent: never. */
  readonly keepAuditLogMs?: number | undefined;
  /** See `createClock`. */
  readonly beginsEveryMs?: number | undefined;
};

/** Unfinished work. `create` repeats the cluster's request; `undo` leaves finished work alone. */
type UnfinishedWork = { readonly create: () => Promise<unknown>; readonly undo: () => Promise<void> };

const concurrency = 4;

/** Finishes the work that a gateway began and did not end, and deletes soft-deleted volumes whose time is over. */
export type Recovery = ReturnType<typeof createRecovery>;

/** Creates the recovery. It repeats the calls that a cluster would make, so it follows the same rules. */
export function createRecovery({
  engine,
  services,
  log,
  leaseMs = defaultLeaseMs,
  keepAuditLogMs = Infinity,
  beginsEveryMs,
}: RecoveryOptions) {
  const { look, skewMs } = createClock({ engine, log, leaseMs, beginsEveryMs });
  const { volumes, changes, attachments, snapshots, groups, sharing } = services;
  const { reader } = engine;

  /**
   * Each function reads the record again: since the list, the work may have been finished, and the id may
   * belong to a new resource.
   */
  const finish: Readonly<Record<Resource['kind'], (id: string) => Promise<void>>> = {
    async volume(id) {
      const volume = await volumeTable.find(reader, { id });
      if (!volume) return;
      const { name, spec, source, pending } = volume;
      const cluster = originalCluster(volume.cluster);
      await finishOrUndo(volume.state, {
        create: () => volumes.create(cluster, id, { name, ...spec, ...(source && { source }) }),
        undo: () => volumes.undo(volume),
      });
      if (volume.state !== 'ready') return;
      await finishAll([
        async () => pending.expansion && changes.expand(cluster, id, pending.expansion),
        async () => pending.modification && changes.modify(cluster, id, pending.modification),
        () => finishAttachments(id),
      ]);
    },

    async snapshot(id) {
      const snapshot = await snapshotTable.find(reader, { id });
      if (!snapshot) return;
      const set = { subject: snapshot, members: [snapshot] };
      const { name, volumeId, parameters } = snapshot;
      const cluster = originalCluster(snapshot.cluster);
      await finishOrUndo(snapshot.state, {
        create: () => snapshots.create(cluster, id, { name, volumeId, parameters: { ...parameters } }),
        undo: () => snapshots.undo(id, set),
      });
    },

    async group(id) {
      const group = await groupTable.find(reader, { id });
      if (!group) return;
      const { name, parameters } = group;
      const cluster = originalCluster(group.cluster);
      const members = await findMembers(reader, id);
      const volumeIds = members.map(({ volumeId }) => volumeId);
      await finishOrUndo(group.state, {
        create: () => groups.create(cluster, id, { name, volumeIds, parameters: { ...parameters } }),
        undo: () => groups.undo(id, { subject: group, members }),
      });
    },
  };

  async function finishAttachments(volumeId: string): Promise<void> {
    for (const attachment of await findUnfinishedAttachments(reader, volumeId)) {
      const { nodeId, cluster, capability, readonly, state } = attachment;
      const accepting = { ...originalCluster(cluster), sharesFrom: [clusterOf(volumeId) ?? ''] };
      const key = { cluster: accepting, volumeId, nodeId };
      await finishOrUndo(state, {
        create: () => attachments.attach(key, { capability, readonly }),
        undo: () => attachments.undo(key, attachment),
      });
    }
  }

  /** Continues a forced revocation. The grantee's nodes may still have the volume attached. */
  function finishRevoking({ volumeId, cluster: grantee }: GrantRecord): Promise<void> {
    return sharing.finishRevoking({ volumeId, grantee }, ({ cluster, nodeId }) =>
      attachments.detach({ cluster: originalCluster(cluster), volumeId, nodeId }),
    );
  }

  async function tryFinish(kind: Resource['kind'], id: string, work: () => Promise<void>): Promise<void> {
    const fields = { [`${kind}Id`]: id, cluster: clusterOf(id) ?? '' };
    try {
      await work();
      log.info('finished work that was left unfinished', fields);
    } catch (error) {
      const { code, detail } = asProblem(error);
      log.warn('could not finish work that was left unfinished', { ...fields, code, detail });
    }
  }

  /** Lists unfinished resources that no gateway works on at `nowMs`. */
  async function* listIdle(kind: Resource['kind'], nowMs: number): AsyncGenerator<string, void> {
    const all = readAllInPieces<UnfinishedResource>((last, limit) =>
      listUnfinished(reader, kind, { afterId: last?.id ?? '', limit, nowMs }),
    );
    for await (const { id, isClaimed } of all) if (!isClaimed) yield id;
  }

  return {
    skewMs,
    /** Tries once to finish all unfinished work that is not claimed. Returns the number of resources. */
    async sweep(): Promise<number> {
      const nowMs = await look();
      if (keepAuditLogMs < Infinity)
        await pruneAuditLog(engine, await timeSeenBefore(engine, nowMs, keepAuditLogMs));
      let count = 0;
      for (const kind of ['volume', 'snapshot', 'group'] as const)
        count += await finishEach(listIdle(kind, nowMs), id => tryFinish(kind, id, () => finish[kind](id)));
      const revoking = readAllInPieces<GrantRecord>((last, limit) =>
        listRevoking(reader, last ?? { cluster: '', volumeId: '' }, { nowMs, limit }),
      );
      return (
        count +
        (await finishEach(revoking, one => tryFinish('volume', one.volumeId, () => finishRevoking(one))))
      );
    },
  };
}

/** Finishes each, a few at a time. Returns their number. */
async function finishEach<T>(
  all: AsyncGenerator<T, void>,
  finish: (one: T) => Promise<void>,
): Promise<number> {
  let count = 0;
  const drain = async (): Promise<void> => {
    for await (const one of all) {
      count++;
      await finish(one);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, drain));
  return count;
}

/**
 * Makes the cluster under which the work began. It was allowed then: the node was admitted, and the cluster
 * could use the pool.
 */
function originalCluster(name: string): Cluster {
  return { name, acceptAnyNode: true, pools: undefined };
}

/**
 * Finishes the work, or undoes it after a final refusal, for example by newer settings. No cluster got an
 * answer that the resource exists, and a repeated request is refused, too.
 */
async function finishOrUndo(state: string, { create, undo }: UnfinishedWork): Promise<void> {
  if (state === 'deleting' || state === 'detaching') return undo();
  if (!['creating', 'processing', 'attaching'].includes(state)) return;
  try {
    await create();
  } catch (error) {
    if (state === 'processing' || !problemTable[asProblem(error).code].final) throw error;
    await undo();
  }
}

/** Takes all steps one by one. A failed step does not stop the next ones. */
async function finishAll(steps: readonly (() => Promise<unknown>)[]): Promise<void> {
  const failures: unknown[] = [];
  for (const step of steps) await step().catch((error: unknown) => failures.push(error));
  if (failures.length > 0) throw failures[0];
}
