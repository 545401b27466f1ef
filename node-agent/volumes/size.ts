import { Problem, unavailableProblem } from '../../src/api/problem.ts';
import type { SizeBounds } from '../../src/csi/request.ts';
import { soonMs, type Readings } from '../host/readings.ts';
import type { Usage } from '../state/cache.ts';
import type { Agent } from './agent.ts';
import { carrierOf } from './carriers/index.ts';
import { notHereProblem, requireHere } from './request-checks.ts';

/** A volume, and one of the paths it is staged or published at. */
export type PathOfVolume = { readonly volumeId: string; readonly path: string };

/**
 * Measures a volume at a path, or NOT_FOUND; where reading it hangs, the last good answer is given within a second. Where there
 * is none it is UNAVAILABLE in seconds: a command that is slow on a busy machine is waited for.
 */
export async function measure(agent: Agent, readings: Readings, at: PathOfVolume): Promise<Usage> {
  const { volumeId, path } = at;
  const { usages } = agent.cache;
  const volume = await locate(agent, at, false);
  if (!volume.isMounted) return { bytes: { total: await volume.readBytes() } };
  const last = usages.get(volumeId);
  const answer = await readings({
    volumeId,
    operation: 'NodeGetVolumeStats',
    command: 'stat',
    args: ['--file-system', '--format', '%S %b %f %a %c %d', '--', path],
    ...(last && { answerMs: soonMs }),
  });
  if ('fault' in answer) {
    if (last && answer.fault === 'Hung') return last;
    throw unavailableProblem(answer.message);
  }
  const usage = readUsage(answer.stdout);
  usages.set(volumeId, usage);
  return usage;
}

/**
 * Makes what the volume has gained usable, and returns its size in bytes; a bound of 0 is none. The size is observed: while
 * the device is still smaller than asked it is UNAVAILABLE. Run again it changes nothing.
 */
export async function expand(agent: Agent, request: PathOfVolume & SizeBounds): Promise<number> {
  const { requiredBytes, limitBytes, volumeId } = request;
  const volume = await locate(agent, request, true);
  const sizeBytes = await volume.growDevice(requiredBytes);
  if (limitBytes > 0 && sizeBytes > limitBytes)
    throw new Problem(
      'OUT_OF_RANGE',
      `volume "${volumeId}" has ${sizeBytes} bytes, more than the limit of ${limitBytes}, and does not shrink`,
    );
  await volume.growFilesystem?.();
  return sizeBytes;
}

/** Finds a volume at a path, which is not touched itself; `isAlone` as in `At`. */
async function locate(agent: Agent, { volumeId, path }: PathOfVolume, isAlone: boolean) {
  const { isMounted, locate: find } = carrierOf(agent, requireHere(agent.records, volumeId, [path]));
  const located = await find({ path, mounts: await agent.host.mounts(), isAlone });
  if (located) return { ...located, isMounted };
  throw notHereProblem(volumeId, [path]);
}

function readUsage(stdout: string): Usage {
  const [unit = 0, blocks = 0, free = 0, available = 0, inodes = 0, freeInodes = 0] = stdout
    .split(' ')
    .map(Number);
  return {
    bytes: { total: blocks * unit, used: (blocks - free) * unit, available: available * unit },
    ...(inodes > 0 && { inodes: { total: inodes, used: inodes - freeInodes, available: freeInodes } }),
  };
}
