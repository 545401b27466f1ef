import { dirname } from 'node:path';
import { trimEndAt } from '../../src/api/attachments/trim-turns.ts';
import { trimOf } from '../../src/api/filesystems.ts';
import { asProblem, unavailableProblem } from '../../src/api/problem.ts';
import { repeat } from '../../src/lib/concurrency.ts';
import { topMount } from '../../src/lib/linux/mountinfo.ts';
import type { CommandLine, Host } from '../host.ts';
import { findFilesystem } from '../filesystems/index.ts';
import { describeFailure, runToEnd, runWell } from '../host/commands.ts';
import type { Trim } from '../state/cache.ts';
import { isStaged, type VolumeRecord } from '../state/records.ts';
import type { Agent } from '../volumes/agent.ts';
import type { VolumeLock } from '../volumes/volume-lock.ts';
import { isFrozen, isReadonly } from './frozen.ts';

/** Maximum time between two looks for volumes whose window has begun. */
const lookEveryMs = 10_000;

/** Time between the kill of a trim and the end of its window, since clocks differ and the last request may end late. */
const marginMs = 20_000;

/** Bytes of a filesystem that one command trims, so that a call that wants the volume waits only for this piece. */
const pieceBytes = 8 * 1024 ** 3;

/** A volume to trim, and the end of its window in milliseconds since the epoch. After `signal` no piece begins. */
type DueVolume = { readonly record: VolumeRecord; readonly endMs: number; readonly signal?: AbortSignal };

/**
 * Trims the mounted volumes whose parameters ask for it (`fs.trim`): the storage gets back the blocks of deleted files. Each
 * volume is trimmed only in the windows of its turn, so that no two nodes trim volumes of one pool at the same time.
 */
export function startTrimming(agent: Agent, lock: VolumeLock, everyMs = lookEveryMs): Disposable {
  const closing = new AbortController();
  const { signal } = closing;
  const startMs = Date.now();
  const look = async (): Promise<void> => {
    for (const record of agent.records.here()) {
      const endMs = windowEnd(record, Date.now());
      // In the window of the agent's start a trim of the agent before it may still run.
      const isBegun = endMs === windowEnd(record, startMs);
      const isTrimmed = endMs === agent.cache.trims.get(record.attachment.attachmentId)?.endMs;
      // Volumes of different pools may have the same window.
      if (endMs !== undefined && !isBegun && !isTrimmed) void trim(agent, lock, { record, endMs, signal });
    }
  };
  const repetition = repeat(look, everyMs);
  // A running command is not waited for: a trim changes no data, and ends with its window.
  return {
    [Symbol.dispose]() {
      closing.abort();
      void repetition.close();
    },
  };
}

/** Returns the end of the window in which the volume may be trimmed now; undefined outside of its windows. */
function windowEnd({ attachment, formatOptions = {} }: VolumeRecord, nowMs: number): number | undefined {
  const trimming = trimOf(formatOptions);
  const { trimTurn } = attachment;
  if (trimming === 'off' || trimTurn === undefined) return undefined;
  return trimEndAt(nowMs, trimTurn, trimming);
}

/**
 * Trims a volume piece by piece until the end of its window, and logs the outcome. The next window continues there, or after a
 * piece that failed. Other calls of the volume run between two pieces.
 */
export async function trim(agent: Agent, lock: VolumeLock, due: DueVolume): Promise<void> {
  const { record, endMs, signal } = due;
  const { volumeId, stagingPath, attachment } = record;
  const { trims } = agent.cache;
  const at = { volumeId, path: stagingPath, isShared: true };
  let offset: number;
  let next = trims.get(attachment.attachmentId)?.offset ?? 0;
  try {
    do {
      offset = next;
      trims.set(attachment.attachmentId, { ...trims.get(attachment.attachmentId), endMs, offset });
      next = await lock('trim', at, async own => (signal?.aborted ? offset : trimPiece(own, due, offset)));
    } while (next > offset);
  } catch (error) {
    const { detail } = asProblem(error);
    agent.log.warn('a piece of a volume was not trimmed; its next window comes in a day or a week', {
      volumeId,
      detail,
    });
  }
}

/**
 * Trims one piece and returns the offset of the next: 0 after the last one, and the same offset if the window ended. A
 * filesystem that is gone, mounted read-only, or frozen is left alone.
 */
async function trimPiece(agent: Agent, { record: due, endMs }: DueVolume, offset: number): Promise<number> {
  const { volumeId, stagingPath } = due;
  const { attachmentId } = due.attachment;
  const { host, records, log } = agent;
  const { trims } = agent.cache;
  const record = records.get(volumeId);
  const mount = topMount(await host.mounts(), stagingPath);
  // A newer attachment has another turn.
  if (record?.attachment.attachmentId !== attachmentId) return 0;
  if (!isStaged(record) || !mount || !findFilesystem(mount.type)) return 0;
  if (isReadonly(mount) || (await isFrozen(agent, record, true))) return 0;
  using directory = await host.open(dirname(stagingPath));
  const opened = [directory];
  // A filesystem may be smaller than its device, and refuses offsets beyond its end.
  const asking = ['--file-system', '--format', '%S %b', '--', stagingPath];
  const { stdout } = await runWell(host, { command: 'stat', args: asking, opened });
  const [blockBytes = 0, blocks = 0] = stdout.split(' ').map(Number);
  // The offsets of a btrfs are not those of its device, so it is trimmed at once.
  const isLast = mount.type === 'btrfs' || offset + pieceBytes >= blocks * blockBytes;
  const range = ['--offset', String(offset), ...(isLast ? [] : ['--length', String(pieceBytes)])];
  const args = ['fstrim', '--quiet-unsupported', ...range, '--', stagingPath];
  const next = isLast ? 0 : offset + pieceBytes;
  const before = trims.get(attachmentId);
  trims.set(attachmentId, { endMs, offset: next });
  if (!(await endsInTime(host, { args, opened }, endMs - marginMs))) {
    noteKill(agent, due, { ...before, endMs, offset });
    return offset;
  }
  if (isLast) log.info('trimmed a volume', { volumeId });
  return next;
}

/** Lets the next window continue at this piece, and logs a warning if it was killed in the window before, too. */
function noteKill({ cache, log }: Agent, record: VolumeRecord, { endMs, offset, killedAt }: Trim): void {
  const { volumeId, attachment } = record;
  cache.trims.set(attachment.attachmentId, { endMs, offset, killedAt: offset });
  if (killedAt === offset) log.warn(tooSlow, { volumeId });
  else log.info('the trim of a volume continues in its next window', { volumeId });
}

const tooSlow =
  'discards of a volume take longer than a window, so no trim reaches its end; use the mount option discard instead of fs.trim';

/** The exit statuses of `timeout` after it killed its command, and for a command that ended just then by itself. */
const killed: ReadonlySet<number> = new Set([137, 124]);

/**
 * Runs a command to its end, or returns false: it was killed at this time. `timeout` kills it even if the agent has ended
 * before.
 */
async function endsInTime(
  host: Host,
  { args, opened }: Required<Pick<CommandLine, 'args' | 'opened'>>,
  stopMs: number,
): Promise<boolean> {
  const leftMs = stopMs - Date.now();
  if (leftMs <= 0) return false;
  const limit = ['--foreground', '--signal=KILL', String(leftMs / 1_000)];
  const line = { command: 'timeout', args: [...limit, ...args], opened, timeoutMs: leftMs + marginMs / 2 };
  const result = await runToEnd(host, line);
  if (killed.has(result.status)) return false;
  if (result.status !== 0) throw unavailableProblem(describeFailure(line, result));
  return true;
}
