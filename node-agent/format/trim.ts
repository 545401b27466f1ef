import { hash } from 'node:crypto';
import { dirname } from 'node:path';
import { trimOf } from '../../src/api/filesystems.ts';
import { asProblem } from '../../src/api/problem.ts';
import { repeat } from '../../src/lib/concurrency.ts';
import { topMount } from '../../src/lib/linux/mountinfo.ts';
import { findFilesystem } from '../filesystems/index.ts';
import { runWell } from '../host/commands.ts';
import { isStaged, type VolumeRecord } from '../state/records.ts';
import type { Agent } from '../volumes/agent.ts';
import type { VolumeLock } from '../volumes/volume-lock.ts';
import { isFrozen, isReadonly } from './frozen.ts';

const dayMs = 24 * 60 * 60_000;
const periodsMs = { daily: dayMs, weekly: 7 * dayMs };

/** Maximum time between two looks for volumes that are due. */
const lookEveryMs = 10 * 60_000;

/** Bytes of a filesystem that one command trims, so that a call that wants the volume waits only for this piece. */
const pieceBytes = 32 * 1024 ** 3;

/**
 * Trims the mounted volumes whose parameters ask for it (`fs.trim`), one after another: the storage gets back the blocks of
 * deleted files. Each volume has its own time of the day or week. A time that passes while the agent is down is left out.
 */
export function startTrimming(agent: Agent, lock: VolumeLock, everyMs = lookEveryMs): Disposable {
  const closing = new AbortController();
  let lastMs = Date.now();
  const look = async (): Promise<void> => {
    const fromMs = lastMs;
    lastMs = Date.now();
    for (const record of agent.records.here().filter(one => isDue(one, fromMs, lastMs)))
      if (!closing.signal.aborted) await trim(agent, lock, record);
  };
  const repetition = repeat(look, everyMs);
  return {
    // A running command is not waited for: a trim changes no data, so it may end after the agent.
    [Symbol.dispose]() {
      closing.abort();
      void repetition.close();
    },
  };
}

/** True if the volume's time to be trimmed has come between two times. */
export function isDue({ volumeId, formatOptions = {} }: VolumeRecord, fromMs: number, toMs: number): boolean {
  const trimming = trimOf(formatOptions);
  if (trimming === 'off') return false;
  const periodMs = periodsMs[trimming];
  const ownMs = Number.parseInt(hash('sha256', volumeId).slice(0, 12), 16) % periodMs;
  const countAt = (ms: number): number => Math.floor((ms - ownMs) / periodMs);
  return countAt(toMs) > countAt(fromMs);
}

/** Trims a volume piece by piece, and logs the outcome. Other calls of the volume run between two pieces. */
export async function trim(agent: Agent, lock: VolumeLock, record: VolumeRecord): Promise<void> {
  const { volumeId, stagingPath } = record;
  const at = { volumeId, path: stagingPath, isShared: true };
  try {
    let next: number | undefined = 0;
    while (next !== undefined) {
      const offset: number = next;
      next = await lock('trim', at, own => trimPiece(own, record, offset));
    }
  } catch (error) {
    const { detail } = asProblem(error);
    agent.log.warn('a volume was not trimmed; its next turn comes in a day or a week', { volumeId, detail });
  }
}

/**
 * Trims one piece and returns the offset of the next; undefined after the last one. A filesystem that is gone, mounted
 * read-only, or frozen is left alone.
 */
async function trimPiece(
  agent: Agent,
  { volumeId, stagingPath }: VolumeRecord,
  offset: number,
): Promise<number | undefined> {
  const { host, records } = agent;
  const record = records.get(volumeId);
  const mount = topMount(await host.mounts(), stagingPath);
  if (!record || !isStaged(record) || !mount || !findFilesystem(mount.type)) return undefined;
  if (isReadonly(mount) || (await isFrozen(agent, record, true))) return undefined;
  using directory = await host.open(dirname(stagingPath));
  const runAt = async (command: string, ...args: readonly string[]) =>
    runWell(host, { command, args: [...args, '--', stagingPath], opened: [directory] });
  // A filesystem may be smaller than its device, and refuses offsets beyond its end.
  const { stdout } = await runAt('stat', '--file-system', '--format', '%S %b');
  const [blockBytes = 0, blocks = 0] = stdout.split(' ').map(Number);
  const next = offset + pieceBytes;
  // The offsets of a btrfs are not those of its device, so it is trimmed at once.
  const isLast = mount.type === 'btrfs' || next >= blocks * blockBytes;
  const range = ['--offset', String(offset), ...(isLast ? [] : ['--length', String(pieceBytes)])];
  await runAt('fstrim', '--quiet-unsupported', ...range);
  if (!isLast) return next;
  agent.log.info('trimmed a volume', { volumeId });
  return undefined;
}
