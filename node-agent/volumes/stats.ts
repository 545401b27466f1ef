import { Problem } from '../../src/api/problem.ts';
import type { Agent } from './agent.ts';
import { locate, readSizeBytes, type PathOfVolume } from './locate.ts';
import type { Readings } from '../host/readings.ts';

/** How full a volume is. Inodes are absent where the filesystem has no fixed number of them. */
export type Usage = {
  readonly bytes: Amounts;
  readonly inodes?: Amounts;
};

/** A block volume knows its total alone. */
export type Amounts = { readonly total: number; readonly used?: number; readonly available?: number };

/**
 * Measures a volume at a path; NOT_FOUND when the volume is not there. The path is read by a command alone; where
 * that hangs, the last good answer is given within a second.
 */
export async function measure(agent: Agent, readings: Readings, at: PathOfVolume): Promise<Usage> {
  const { volumeId, path } = at;
  const { record, number } = await locate(agent, at);
  if (record.capability.accessType === 'block' && number !== undefined)
    return { bytes: { total: await readSizeBytes(agent, number) } };
  const answer = await readings({
    volumeId,
    operation: 'NodeGetVolumeStats',
    command: 'stat',
    args: ['--file-system', '--format', '%S %b %f %a %c %d', '--', path],
  });
  if ('hangs' in answer) {
    const usage = agent.memory.lastUsage(volumeId);
    if (usage) return usage;
    throw new Problem('UNAVAILABLE', `volume "${volumeId}" hangs: ${answer.hangs}`);
  }
  const { status, stdout, stderr } = answer.result;
  if (status !== 0) throw new Problem('UNAVAILABLE', `volume "${volumeId}" cannot be read: ${stderr.trim()}`);
  const usage = readUsage(stdout);
  agent.memory.setUsage(volumeId, usage);
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
