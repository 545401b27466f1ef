import { asProblem, preconditionProblem } from '../../../src/api/problem.ts';
import { createKeyedQueue, poll } from '../../../src/lib/concurrency.ts';
import type { Log } from '../../../src/lib/log.ts';
import type { VolumeRef } from '../../backend.ts';
import { isCopy, isRest, restNameOf } from './names.ts';
import { deviceOf, type PoolReport, type ZfsPool, type Zvol } from './pool.ts';

/** Other programs, such as udev, open a device for a moment after it was closed. */
const openPatience = { everyMs: 200, timeoutMs: 5_000 };

/** Deletes volumes and snapshots whose blocks others may share. */
export type Deletion = ReturnType<typeof createDeletion>;

/**
 * ZFS destroys no volume that has snapshots, and no snapshot that has clones. A volume therefore leaves its snapshots to
 * a clone of the newest one: to another volume that is such a clone, or to a clone that has no device and no blocks of
 * its own, called a rest. A snapshot that has clones gets the name of a rest, and ZFS destroys it with its last clone.
 */
export function createDeletion(pool: ZfsPool, log: Log) {
  const runInQueue = createKeyedQueue();

  /** Destroys rests that nobody needs any more. A failure is logged, and the next deletion tries again. */
  async function sweep(): Promise<void> {
    try {
      const { all } = await pool.report();
      const rests = all.filter(({ name }) => isRest(name));
      for (const one of rests)
        if (one.noun === 'snapshot' && !one.isDeferred) await destroy(pool, one.path, ['-d']);
      for (const one of rests) if (one.noun === 'volume') await removeRest(one.path);
    } catch (error) {
      log.error('cannot remove the rest of a deleted volume', { detail: asProblem(error).detail });
    }
  }

  async function removeRest(path: string): Promise<void> {
    const report = await pool.report();
    const newest = newestOf(report, path);
    if (newest) {
      const clone = ownCloneOf(report, newest);
      if (!clone || !(await canPromote(pool, clone.path))) return;
    }
    await destroy(pool, path);
  }

  /** Removes a snapshot from its name at once. */
  async function removeSnapshot(snapshot: Zvol): Promise<void> {
    let { path } = snapshot;
    if (snapshot.clones.length > 0) {
      path = `${path.slice(0, path.indexOf('@'))}@${restNameOf(snapshot.guid)}`;
      await pool.change(['rename', snapshot.path, path], `rename "${snapshot.path}"`);
    }
    await destroy(pool, path, ['-d']);
  }

  /** Without an id, removes the snapshots of all copies. */
  async function removeCopies(report: PoolReport, id?: string): Promise<void> {
    for (const one of report.all)
      if (one.noun === 'snapshot' && isCopy(one.name, id)) await removeSnapshot(one);
  }

  return {
    /** Removes the rest that an earlier gateway left. Nothing else may be in progress. */
    async start(): Promise<void> {
      await removeCopies(await pool.report());
      await sweep();
    },
    /** Removes the snapshots from which the volume with this id was copied, if the report has one. */
    async removeCopies({ all }: PoolReport, id: string): Promise<void> {
      if (all.some(({ name }) => isCopy(name, id)))
        await runInQueue('', async () => removeCopies(await pool.report(), id));
    },
    volume: (ref: VolumeRef) =>
      runInQueue('', async () => {
        const report = await pool.report();
        const found = report.find('volume', ref);
        if (found) await removeVolume(pool, report, found);
        await removeCopies(report, ref.id);
        await sweep();
      }),
    snapshot: (ref: VolumeRef) =>
      runInQueue('', async () => {
        const found = (await pool.report()).find('snapshot', ref);
        if (found) await removeSnapshot(found);
        await sweep();
      }),
  };
}

/** Destroys a volume. FAILED_PRECONDITION while a program has it open. */
async function removeVolume(pool: ZfsPool, report: PoolReport, { path, record }: Zvol): Promise<void> {
  const newest = newestOf(report, path);
  if (newest) await leaveSnapshots(pool, report, newest);
  let fault: unknown;
  const tryDestroy = () =>
    destroy(pool, path).then(
      () => true as const,
      (error: unknown) => void (fault = error),
    );
  if (await poll(tryDestroy, openPatience)) return;
  // Somebody may have taken a snapshot meanwhile.
  if (newestOf(await pool.report(), path)) throw fault;
  throw preconditionProblem(
    `volume "${record?.id}" is still in use: ${deviceOf(path)} is open: ${asProblem(fault).detail}`,
  );
}

/** Makes a clone of a volume's newest snapshot the owner of all its snapshots. */
async function leaveSnapshots(pool: ZfsPool, report: PoolReport, newest: Zvol): Promise<void> {
  const clone = ownCloneOf(report, newest);
  if (clone && (await canPromote(pool, clone.path))) return;
  const rest = pool.pathOf(restNameOf(newest.guid));
  const work = `keep the snapshots of "${newest.path}"`;
  if (!newest.clones.includes(rest))
    await pool.change(['clone', '-o', 'volmode=none', newest.path, rest], work);
  await pool.change(['promote', rest], work);
}

/** Promotes a clone; false when it has a snapshot of the same name as its origin, as tools for snapshots make. */
async function canPromote(pool: ZfsPool, path: string): Promise<boolean> {
  return pool.change(['promote', path], `promote "${path}"`).then(
    () => true,
    () => false,
  );
}

function destroy(pool: ZfsPool, path: string, options: readonly string[] = []): Promise<void> {
  return pool.change(['destroy', ...options, path], `destroy "${path}"`);
}

function newestOf({ all }: PoolReport, path: string): Zvol | undefined {
  return all
    .filter(one => one.noun === 'snapshot' && one.path.startsWith(`${path}@`))
    .toSorted((a, b) => b.transaction - a.transaction)[0];
}

/** Finds a clone that is a volume of this gateway, or a rest. */
function ownCloneOf({ all }: PoolReport, { clones }: Zvol): Zvol | undefined {
  return all.find(one => clones.includes(one.path) && (one.record !== undefined || isRest(one.name)));
}
