import { Problem } from '../../src/api/problem.ts';
import type { Usage } from '../state/cache.ts';
import type { Agent } from './agent.ts';
import { locate, type PathOfVolume } from './locate.ts';
import type { Readings } from '../host/readings.ts';

/**
 * Measures a volume at a path; NOT_FOUND when the volume is not there. The path is read by a command alone; where
 * that hangs, the last good answer is given within a second.
 */
export async function measure(agent: Agent, readings: Readings, at: PathOfVolume): Promise<Usage> {
  const { volumeId, path } = at;
  const volume = await locate(agent, { ...at, isAlone: false });
  if (!volume.isMounted) return { bytes: { total: await volume.readBytes() } };
  const answer = await readings({
    volumeId,
    operation: 'NodeGetVolumeStats',
    command: 'stat',
    args: ['--file-system', '--format', '%S %b %f %a %c %d', '--', path],
  });
  if ('hangs' in answer) {
    const usage = agent.cache.usages.get(volumeId);
    if (usage) return usage;
    throw new Problem('UNAVAILABLE', `volume "${volumeId}" hangs: ${answer.hangs}`);
  }
  const { status, stdout, stderr } = answer.result;
  if (status !== 0) throw new Problem('UNAVAILABLE', `volume "${volumeId}" cannot be read: ${stderr.trim()}`);
  const usage = readUsage(stdout);
  agent.cache.usages.set(volumeId, usage);
  return usage;
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
