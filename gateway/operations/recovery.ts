import { asProblem, problemTable } from '../../src/api/problem.ts';
import type { Log } from '../../src/lib/log.ts';
import { findSuccessor } from '../attachments/epochs.ts';
import { findAttachments } from '../tables/attachments.ts';
import type { Resource } from '../tables/claims.ts';
import { expireKept, isKeptTooLong } from '../tables/kept.ts';
import { listUnfinishedGroups, type GroupRecord } from '../tables/groups.ts';
import { findMembers, listUnfinishedSnapshots, type SnapshotRecord } from '../tables/snapshots.ts';
import { listUnfinished, type VolumeRecord } from '../tables/volumes.ts';
import type { Services } from '../services.ts';
import type { Engine, Reader } from '../store.ts';

/** Finishes what a gateway began and did not end, and deletes what was kept for long enough. */
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

type Unfinished = Resource & { readonly cluster: string };
type List<T> = (
  sql: Reader,
  page: { afterId: string; limit: number; nowMs: number },
) => Promise<readonly T[]>;

const concurrency = 4;
const pageSize = 100;

/** Makes the recovery. It makes the same calls that a cluster would make again, so it follows the same rules. */
export function createRecovery({ engine, services, log }: RecoveryOptions): Recovery {
  const { volumes, expansion, modification, snapshots, groups } = services;

  async function finishVolume(volume: VolumeRecord): Promise<void> {
    const { id, cluster, state, name, spec, pending } = volume;
    if (state === 'creating')
      await finishOrUndo(
        () => volumes.create(cluster, id, { name, ...spec }),
        () => volumes.delete(cluster, id),
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
    const attachments = await findAttachments(engine.reader, id);
    for (const attachment of attachments) {
      const { nodeId, capability, readonly, state } = attachment;
      // The node was accepted when the work was begun.
      const key = {
        cluster: { name: attachment.cluster, acceptAnyNode: true },
        volumeId: id,
        nodeId,
      };
      if (state === 'attached') continue;
      // What was begun for a machine that is gone is undone.
      const isOver = state === 'detaching' || (await findSuccessor(engine.reader, attachment, attachments));
      const detach = () => services.attachments.detach(key);
      if (isOver) await detach();
      else await finishOrUndo(() => services.attachments.attach(key, { capability, readonly }), detach);
    }
  }

  async function finishSnapshot(snapshot: SnapshotRecord): Promise<void> {
    const { id, cluster, state, name, volumeId, parameters } = snapshot;
    if (state === 'deleting') await snapshots.delete(cluster, id);
    else await snapshots.create(cluster, id, { name, volumeId, parameters: { ...parameters } });
  }

  async function finishGroup({ id, cluster, state, name, parameters }: GroupRecord): Promise<void> {
    if (state === 'deleting') return groups.delete(cluster, id);
    const volumeIds = (await findMembers(engine.reader, id)).map(({ volumeId }) => volumeId);
    await groups.create(cluster, id, { name, volumeIds, parameters: { ...parameters } });
  }

  async function tryFinish(unfinished: Unfinished, finish: () => Promise<void>): Promise<void> {
    const { kind, id, cluster } = unfinished;
    const fields = { [`${kind}Id`]: id, cluster };
    try {
      await finish();
      log.info('finished what was left unfinished', fields);
    } catch (error) {
      const { code, detail } = asProblem(error);
      log.warn('could not finish what was left unfinished', { ...fields, code, detail });
    }
  }

  async function sweepOver<T extends Unfinished>(
    list: List<T>,
    finish: (unfinished: T) => Promise<void>,
  ): Promise<number> {
    let count = 0;
    let afterId = '';
    for (;;) {
      const page = await list(engine.reader, { afterId, limit: pageSize, nowMs: Date.now() });
      const queue = page.values();
      const drain = async (): Promise<void> => {
        for (const unfinished of queue) await tryFinish(unfinished, () => finish(unfinished));
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
      if (await isKeptTooLong(engine.reader, nowMs)) await engine.transaction(sql => expireKept(sql, nowMs));
      return (
        (await sweepOver(listUnfinished, finishVolume)) +
        (await sweepOver(listUnfinishedSnapshots, finishSnapshot)) +
        (await sweepOver(listUnfinishedGroups, finishGroup))
      );
    },
  };
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
