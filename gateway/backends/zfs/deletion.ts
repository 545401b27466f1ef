import { randomBytes } from 'node:crypto';
import { asProblem, preconditionProblem, type Problem } from '../../../src/api/problem.ts';
import { createKeyedQueue, poll } from '../../../src/lib/concurrency.ts';
import type { Log } from '../../../src/lib/log.ts';
import type { VolumeRef } from '../../backend.ts';
import { hiddenNameOf, isHidden } from './names.ts';
import { deviceOf, type PoolReport, type ZfsPool, type Zvol } from './pool.ts';

/** Other programs, such as udev, open a device for a moment after it was closed. */
const openPatience = { everyMs: 200, timeoutMs: 5_000 };

/** Deletes volumes and snapshots whose blocks others may share. */
export type Deletion = ReturnType<typeof createDeletion>;

/**
 * ZFS destroys no volume that has snapshots, and no snapshot that has clones. A volume therefore leaves its snapshots to
 * a clone of the newest one: to another volume that is such a clone, or to a keeper, a clone that has no device and no
 * blocks of its own. A deleted snapshot gets a hidden name, and ZFS destroys it with its last clone or hold.
 */
export function createDeletion(pool: ZfsPool, log: Log, patience = openPatience) {
  const runInQueue = createKeyedQueue();

  /** Destroys what nobody needs any more. A failure is logged, and the next deletion tries again. */
  async function sweep(): Promise<void> {
    try {
      const { all } = await pool.report();
      const hidden = all.filter(({ name }) => isHidden(name));
      for (const one of hidden)
        if (one.noun === 'snapshot' && !one.isDeferred) await destroy(pool, one.path, ['-d']);
      for (const one of hidden) if (one.noun === 'volume') await removeKeeper(one.path);
    } catch (error) {
      log.error('cannot remove what a deleted volume left', { detail: asProblem(error).detail });
    }
  }

  async function removeKeeper(path: string): Promise<void> {
    const report = await pool.report();
    const newest = newestOf(report, path);
    if (newest) {
      const clone = ownCloneOf(report, newest);
      if (!clone || !(await canPromote(pool, clone.path))) return;
    }
    await destroy(pool, path);
  }

  return {
    /** Removes what a killed gateway left. Nothing else may be in progress. */
    start: sweep,
    volume: (ref: VolumeRef) =>
      runInQueue('', async () => {
        const report = await pool.report();
        const found = report.find('volume', ref);
        if (found) await removeVolume(pool, report, { volume: found, patience });
        await sweep();
      }),
    snapshot: (ref: VolumeRef) =>
      runInQueue('', async () => {
        const found = (await pool.report()).find('snapshot', ref);
        if (found) await removeSnapshot(pool, found);
        await sweep();
      }),
    /** Runs work that makes a clone of the volume as it is now, from a snapshot that ZFS destroys with this clone. */
    whileCopied: (path: string, work: (copy: string) => Promise<void>) =>
      runInQueue('', async () => {
        const copy = `${path}@${hiddenNameOf(randomBytes(8).toString('hex'))}`;
        await pool.change(['snapshot', copy], `copy "${path}"`);
        try {
          await work(copy);
        } finally {
          await destroy(pool, copy, ['-d']);
        }
      }),
  };
}

/** Removes a snapshot from its name at once. */
async function removeSnapshot(pool: ZfsPool, { path, guid }: Zvol): Promise<void> {
  const hidden = `${path.slice(0, path.indexOf('@'))}@${hiddenNameOf(guid)}`;
  await pool.change(['rename', path, hidden], `rename "${path}"`);
  await destroy(pool, hidden, ['-d']);
}

type Removal = { readonly volume: Zvol; readonly patience: typeof openPatience };

/** Destroys a volume. FAILED_PRECONDITION while a program has it open. */
async function removeVolume(pool: ZfsPool, report: PoolReport, { volume, patience }: Removal): Promise<void> {
  const { path, record } = volume;
  const newest = newestOf(report, path);
  if (newest) await leaveSnapshots(pool, report, newest);
  let fault: Problem | undefined;
  const tryDestroy = () =>
    destroy(pool, path).then(
      () => true as const,
      (error: unknown) => {
        fault = asProblem(error);
        // ZFS may still destroy it later.
        if (fault.outage) throw fault;
      },
    );
  if (await poll(tryDestroy, patience)) return;
  const { health } = await pool.status();
  // Somebody may have taken a snapshot meanwhile.
  const hasSnapshots = newestOf(await pool.report(), path) !== undefined;
  if (fault?.code !== 'UNAVAILABLE' || !workingStates.has(health) || hasSnapshots) throw fault;
  throw preconditionProblem(
    `volume "${record?.id}" is still in use: ${deviceOf(path)} is open: ${fault.detail}`,
  );
}

/** States of a storage pool in which ZFS refuses to destroy a volume only because the volume is in use. */
const workingStates: ReadonlySet<string> = new Set(['ONLINE', 'DEGRADED']);

/** Makes a clone of a volume's newest snapshot the owner of all its snapshots. */
async function leaveSnapshots(pool: ZfsPool, report: PoolReport, newest: Zvol): Promise<void> {
  const clone = ownCloneOf(report, newest);
  if (clone && (await canPromote(pool, clone.path))) return;
  const keeper = pool.pathOf(hiddenNameOf(newest.guid));
  const work = `keep the snapshots of "${newest.path}"`;
  if (!newest.clones.includes(keeper))
    await pool.change(['clone', '-o', 'volmode=none', newest.path, keeper], work);
  await pool.change(['promote', keeper], work);
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

/** Finds a clone that is a volume of this gateway, or a keeper. */
function ownCloneOf({ all }: PoolReport, { clones }: Zvol): Zvol | undefined {
  return all.find(one => clones.includes(one.path) && (one.record !== undefined || isHidden(one.name)));
}
