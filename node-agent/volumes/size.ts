import { Problem, unavailableProblem } from '../../src/api/problem.ts';
import type { SizeBounds } from '../../src/csi/request.ts';
import { withinTime } from '../../src/lib/concurrency.ts';
import { soonMs, type Readings } from '../host/readings.ts';
import type { Usage } from '../state/cache.ts';
import type { Agent } from './agent.ts';
import { carrierOf } from './carriers/index.ts';
import { checkRootAccess } from './health.ts';
import { notHereProblem, requireHere } from './request-checks.ts';

export type PathOfVolume = { readonly volumeId: string; readonly path: string };

/**
 * Measures a volume at a path; NOT_FOUND if it is not there. If the reading hangs, returns the last good answer within a
 * second. Without one it waits some seconds, since a busy machine may just be slow, and is then UNAVAILABLE.
 */
export async function measure(agent: Agent, readings: Readings, at: PathOfVolume): Promise<Usage> {
  const { volumeId, path } = at;
  const { usages } = agent.cache;
  const operation = 'NodeGetVolumeStats';
  const host = agent.watch.hostFor(volumeId, operation, agent.host);
  const volume = await locate({ ...agent, host }, at, false);
  if (!volume.isMounted) return { bytes: { total: await volume.readBytes() } };
  const last = usages.get(volumeId);
  const answer = await readings({
    volumeId,
    operation,
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
  // Updates the metrics; the caller waits at most a second for it.
  if (volume.isFrozen)
    await withinTime(
      volume.isFrozen(false).catch(() => {}),
      soonMs,
    );
  // Kubelet asks for statistics each minute, and for health in few clusters.
  await checkRootAccess(agent, requireHere(agent.records, volumeId, [path]), path);
  return usage;
}

/**
 * Makes a volume's new size usable and returns the observed size in bytes; a bound of 0 means none. UNAVAILABLE while the
 * device is still smaller than required. Safe to run again.
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

/** Finds a volume at a path without touching the path; `isAlone` as in `LocateRequest`. */
async function locate(agent: Agent, { volumeId, path }: PathOfVolume, isAlone: boolean) {
  const carrier = carrierOf(agent, requireHere(agent.records, volumeId, [path]));
  const { isMounted, locate: find, isFrozen } = carrier;
  const located = await find({ path, mounts: await agent.host.mounts(), isAlone });
  if (located) return { ...located, isMounted, isFrozen };
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
