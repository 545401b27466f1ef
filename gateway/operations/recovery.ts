import { clusterOf } from '../../src/api/ids.ts';
import { asProblem, problemTable } from '../../src/api/problem.ts';
import type { Log } from '../../src/lib/log.ts';
import type { Services } from '../services.ts';
import type { Engine } from '../store.ts';
import { findAttachments } from '../tables/attachments.ts';
import { type GrantRecord, listRevoking } from '../tables/tenancy/grants.ts';
import { pruneAudit } from '../tables/tenancy/audit-log.ts';
import { listUnfinished, type Resource } from '../tables/claims.ts';
import { timeSeenBefore } from '../tables/clock.ts';
import { groupTable } from '../tables/groups.ts';
import { findMembers, snapshotTable } from '../tables/snapshots.ts';
import { volumeTable } from '../tables/volumes.ts';
import type { Cluster } from '../tenancy/cluster.ts';
import { createClock } from './clock.ts';
import { defaultLeaseMs } from './operation.ts';

/** What is needed to find and to finish work. */
type RecoveryOptions = {
  readonly engine: Engine;
  readonly services: Services;
  readonly log: Log;
  /** As the operations have it. */
  readonly leaseMs?: number | undefined;
  /** How long the log of what was done is kept, in milliseconds; absent: for ever. */
  readonly keepAuditMs?: number | undefined;
  /** As the clock has it. */
  readonly beginsEveryMs?: number | undefined;
};

/** What was begun: `create` asks again as the cluster would, `undo` leaves alone what is more than begun. */
type Begun = { readonly create: () => Promise<unknown>; readonly undo: () => Promise<void> };

const concurrency = 4;

/** Finishes what a gateway began and did not end, and deletes soft-deleted volumes whose time is over. */
export type Recovery = ReturnType<typeof createRecovery>;

/** Makes the recovery. It makes the same calls that a cluster would make again, so it follows the same rules. */
export function createRecovery({
  engine,
  services,
  log,
  leaseMs = defaultLeaseMs,
  keepAuditMs = Infinity,
  beginsEveryMs,
}: RecoveryOptions) {
  const { look, skewMs } = createClock({ engine, log, leaseMs, beginsEveryMs });
  const { volumes, changes, attachments, snapshots, groups, sharing } = services;
  const { reader } = engine;

  /** Since it was listed it may have been finished, and something new have been created under its id. */
  const finish: Readonly<Record<Resource['kind'], (id: string) => Promise<void>>> = {
    async volume(id) {
      const volume = await volumeTable.find(reader, { id });
      if (!volume) return;
      const { name, spec, source, pending } = volume;
      const cluster = asBegun(volume.cluster);
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
      const recorded = { subject: snapshot, members: [snapshot] };
      const { name, volumeId, parameters } = snapshot;
      const cluster = asBegun(snapshot.cluster);
      await finishOrUndo(snapshot.state, {
        create: () => snapshots.create(cluster, id, { name, volumeId, parameters: { ...parameters } }),
        undo: () => snapshots.undo(id, recorded),
      });
    },

    async group(id) {
      const group = await groupTable.find(reader, { id });
      if (!group) return;
      const { name, parameters } = group;
      const cluster = asBegun(group.cluster);
      const members = await findMembers(reader, id);
      const volumeIds = members.map(({ volumeId }) => volumeId);
      await finishOrUndo(group.state, {
        create: () => groups.create(cluster, id, { name, volumeIds, parameters: { ...parameters } }),
        undo: () => groups.undo(id, { subject: group, members }),
      });
    },
  };

  async function finishAttachments(volumeId: string): Promise<void> {
    for (const attachment of await findAttachments(reader, volumeId)) {
      const { nodeId, cluster, capability, readonly, state } = attachment;
      const key = { cluster: asBegun(cluster), volumeId, nodeId };
      await finishOrUndo(state, {
        create: () => attachments.attach(key, { capability, readonly }),
        undo: () => attachments.undo(key, attachment),
      });
    }
  }

  /** It may be attached still at nodes of the cluster that had the grant. */
  function finishRevoking({ volumeId, cluster: grantee }: GrantRecord): Promise<void> {
    return sharing.finishRevoking({ volumeId, grantee }, ({ cluster, nodeId }) =>
      attachments.detach({ cluster: asBegun(cluster), volumeId, nodeId }),
    );
  }

  async function tryFinish(kind: Resource['kind'], id: string, work: () => Promise<void>): Promise<void> {
    const fields = { [`${kind}Id`]: id, cluster: clusterOf(id) ?? '' };
    try {
      await work();
      log.info('finished what was left unfinished', fields);
    } catch (error) {
      const { code, detail } = asProblem(error);
      log.warn('could not finish what was left unfinished', { ...fields, code, detail });
    }
  }

  return {
    skewMs,
    /** Goes once over everything that is unfinished and not claimed; returns how many resources that were. */
    async sweep(): Promise<number> {
      const nowMs = await look();
      if (keepAuditMs < Infinity) await pruneAudit(engine, await timeSeenBefore(engine, nowMs, keepAuditMs));
      let count = 0;
      for (const kind of ['volume', 'snapshot', 'group'] as const) {
        const ids = await listUnfinished(reader, kind, nowMs);
        count += await finishEach(ids, id => tryFinish(kind, id, () => finish[kind](id)));
      }
      const revoking = await listRevoking(reader, nowMs);
      return (
        count +
        (await finishEach(revoking, one => tryFinish('volume', one.volumeId, () => finishRevoking(one))))
      );
    },
  };
}

/** Some at a time; returns how many there were. */
async function finishEach<T>(all: readonly T[], finish: (one: T) => Promise<void>): Promise<number> {
  const queue = all.values();
  const drain = async (): Promise<void> => {
    for (const one of queue) await finish(one);
  };
  await Promise.all(Array.from({ length: concurrency }, drain));
  return all.length;
}

/** What was begun was allowed then: the node was admitted, and the cluster could use the pool. */
function asBegun(name: string): Cluster {
  return { name, acceptAnyNode: true, pools: undefined };
}

/**
 * Undoes what is refused for good, as by settings that are newer than it: no cluster was answered that it is there, and
 * one that asks again is refused, too.
 */
async function finishOrUndo(state: string, { create, undo }: Begun): Promise<void> {
  if (state === 'deleting' || state === 'detaching') return undo();
  if (!['creating', 'processing', 'attaching'].includes(state)) return;
  try {
    await create();
  } catch (error) {
    if (state === 'processing' || !problemTable[asProblem(error).code].final) throw error;
    await undo();
  }
}

/** Does all of them, one after the other; one that fails holds up no other. */
async function finishAll(steps: readonly (() => Promise<unknown>)[]): Promise<void> {
  const failures: unknown[] = [];
  for (const step of steps) await step().catch((error: unknown) => failures.push(error));
  if (failures.length > 0) throw failures[0];
}
