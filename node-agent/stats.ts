import { Problem } from '../src/api/problem.ts';
import type { Agent } from './agent.ts';
import { runWell } from './commands.ts';
import { topMount } from './mountinfo.ts';
import { ownNumber } from './ownership.ts';

/** How full a volume is. Inodes are absent where the filesystem has no fixed number of them. */
export type Usage = {
  readonly bytes: Amounts;
  readonly inodes?: Amounts;
};

/** A block volume knows its total alone. */
export type Amounts = { readonly total: number; readonly used?: number; readonly available?: number };

/** Which volume, and one of the paths it is staged or published at. */
export type StatsRequest = { readonly volumeId: string; readonly path: string };

/** Measures a volume at a path; NOT_FOUND when the volume is not there. The path is read by a command alone. */
export async function measure({ host, records }: Agent, { volumeId, path }: StatsRequest): Promise<Usage> {
  const record = records.get(volumeId);
  const paths = record ? [record.stagingPath, ...record.targets.map(target => target.path)] : [];
  const mount = paths.includes(path) ? topMount(await host.mounts(), path) : undefined;
  const number = record && mount && (await ownNumber(mount, record, host));
  if (number === undefined)
    throw new Problem('NOT_FOUND', `volume "${volumeId}" is neither staged nor published at "${path}"`);
  if (record?.capability.accessType === 'block') {
    const sectors = await host.readText(`/sys/dev/block/${number}/size`);
    return { bytes: { total: Number(sectors) * 512 } };
  }
  const { stdout } = await runWell(host, {
    command: 'stat',
    args: ['--file-system', '--format', '%S %b %f %a %c %d', '--', path],
  });
  return readUsage(stdout);
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
