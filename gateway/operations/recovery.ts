import { asProblem, problemTable } from '../../src/api/problem.ts';
import type { Log } from '../../src/lib/log.ts';
import { findAttachments } from '../tables/attachments.ts';
import type { Resource, UnfinishedQuery } from '../tables/claims.ts';
import { expireSoftDeleted, hasExpired } from '../tables/soft-deleted.ts';
import { groupTable, listUnfinishedGroups, type GroupRecord } from '../tables/groups.ts';
import {
  findMembers,
  listUnfinishedSnapshots,
  snapshotTable,
  type SnapshotRecord,
} from '../tables/snapshots.ts';
import { listUnfinished, volumeTable, type VolumeRecord } from '../tables/volumes.ts';
import type { Services } from '../services.ts';
import type { Engine, Reader } from '../store.ts';
import type { Cluster } from '../tenancy/cluster.ts';

/** Finishes what a gateway began and did not end, and deletes soft-deleted volumes whose time is over. */
export interface Recovery {
  /** Goes once over everything that is unfinished and claimed by nobody; returns how many resources that were. */
  sweep(): Promise<number>;
}

/** What is needed to find and to finish work. */
export type RecoveryOptions = {
  readonly engine: Engine;
  readonly services: Services;
  readonly log: Log;
};

type Unfinished = Pick<Resource, 'id'> & { readonly cluster: string };
type Kind<T> = {
  readonly kind: Resource['kind'];
  readonly list: (sql: Reader, query: UnfinishedQuery) => Promise<readonly T[]>;
  readonly find: (sql: Reader, unfinished: T) => Promise<T | undefined>;
  readonly finish: (unfinished: T) => Promise<void>;
};

const concurrency = 4;
const pageSize = 100;

/** Makes the recovery. It makes the same calls that a cluster would make again, so it follows the same rules. */
export function createRecovery({ engine, services, log }: RecoveryOptions): Recovery {
  const { volumes, expansion, modification, snapshots, groups } = services;

  async function finishVolume(volume: VolumeRecord): Promise<void> {
    const { id, state, name, spec, source, pending } = volume;
    const cluster = clusterOf(volume);
    if (state === 'creating')
      await finishOrUndo(
        () => volumes.create(cluster, id, { name, ...spec, ...(source && { source }) }),
        async () => {
          const now = await volumeTable.find(engine.reader, { id });
          if (now?.state === 'creating') await volumes.delete(cluster, id);
        },
      );
    if (state === 'deleting') await volumes.delete(cluster, id);
    if (state !== 'ready') return;
    const { expansion: bounds, modification: parameters } = pending;
    await finishAll([
      async () => bounds && expansion.expand(cluster, id, bounds),
      async () => parameters && modification.modify(cluster, id, parameters),
      () => finishAttachments(volume),
    ]);
  }

  async function finishAttachments({ id }: VolumeRecord): Promise<void> {
    for (const attachment of await findAttachments(engine.reader, id)) {
      const { nodeId, capability, readonly, state } = attachment;
      const key = { cluster: clusterOf(attachment), volumeId: id, nodeId };
      if (state === 'attached') continue;
      const detach = () => services.attachments.detach(key);
      if (state === 'detaching') await detach();
      else await finishOrUndo(() => services.attachments.attach(key, { capability, readonly }), detach);
    }
  }

  async function finishSnapshot(snapshot: SnapshotRecord): Promise<void> {
    const { id, state, name, volumeId, parameters } = snapshot;
    const cluster = clusterOf(snapshot);
    const create = () => snapshots.create(cluster, id, { name, volumeId, parameters: { ...parameters } });
    if (state === 'deleting') await snapshots.delete(cluster, id);
    if (state === 'processing') await create();
    if (state === 'creating')
      await finishOrUndo(create, async () => {
        const now = await snapshotTable.find(engine.reader, { id });
        if (now?.state === 'creating') await snapshots.delete(cluster, id);
      });
  }

  async function finishGroup(group: GroupRecord): Promise<void> {
    const { id, state, name, parameters } = group;
    const cluster = clusterOf(group);
    if (state === 'ready') return;
    if (state === 'deleting') return groups.delete(cluster, id);
    const volumeIds = (await findMembers(engine.reader, id)).map(({ volumeId }) => volumeId);
    const create = () => groups.create(cluster, id, { name, volumeIds, parameters: { ...parameters } });
    if (state === 'processing') return void (await create());
    await finishOrUndo(create, async () => {
      const now = await groupTable.find(engine.reader, { id });
      if (now?.state === 'creating') await groups.delete(cluster, id);
    });
  }

  async function tryFinish<T extends Unfinished>({ kind, find, finish }: Kind<T>, listed: T): Promise<void> {
    const fields = { [`${kind}Id`]: listed.id, cluster: listed.cluster };
    try {
      // Since it was listed it may have been finished, and something new have been made under its id.
      const unfinished = await find(engine.reader, listed);
      if (!unfinished) return;
      await finish(unfinished);
      log.info('finished what was left unfinished', fields);
    } catch (error) {
      const { code, detail } = asProblem(error);
      log.warn('could not finish what was left unfinished', { ...fields, code, detail });
    }
  }

  async function sweepOver<T extends Unfinished>(kind: Kind<T>): Promise<number> {
    let count = 0;
    let afterId = '';
    for (;;) {
      const page = await kind.list(engine.reader, { afterId, limit: pageSize, nowMs: Date.now() });
      const queue = page.values();
      const drain = async (): Promise<void> => {
        for (const unfinished of queue) await tryFinish(kind, unfinished);
      };
      await Promise.all(Array.from({ length: concurrency }, drain));
      count += page.length;
      if (page.length < pageSize) return count;
      afterId = page.at(-1)?.id ?? afterId;
    }
  }

  return {
    async sweep() {
      const nowMs = Date.now();
      if (await hasExpired(engine.reader, nowMs))
        await engine.transaction(sql => expireSoftDeleted(sql, nowMs));
      return (
        (await sweepOver({
          kind: 'volume',
          list: listUnfinished,
          find: volumeTable.find,
          finish: finishVolume,
        })) +
        (await sweepOver({
          kind: 'snapshot',
          list: listUnfinishedSnapshots,
          find: snapshotTable.find,
          finish: finishSnapshot,
        })) +
        (await sweepOver({
          kind: 'group',
          list: listUnfinishedGroups,
          find: groupTable.find,
          finish: finishGroup,
        }))
      );
    },
  };
}

/** What was begun was allowed then: the node was admitted, and the cluster could use the pool. */
function clusterOf({ cluster: name }: Pick<Unfinished, 'cluster'>): Cluster {
  return { name, acceptAnyNode: true, pools: undefined };
}

/**
 * Undoes what is refused for good, as by settings that are newer than it: nobody was ever told that it is there, and
 * whoever asks again is refused, too.
 */
async function finishOrUndo(finish: () => Promise<unknown>, undo: () => Promise<void>): Promise<void> {
  try {
    await finish();
  } catch (error) {
    if (!problemTable[asProblem(error).code].final) throw error;
    await undo();
  }
}

/** Does all of them, one after the other; one that fails holds up no other. */
async function finishAll(steps: readonly (() => Promise<unknown>)[]): Promise<void> {
  const failures: unknown[] = [];
  for (const step of steps) await step().catch((error: unknown) => failures.push(error));
  if (failures.length > 0) throw failures[0];
}
