import { constants } from 'node:fs';
import { access, statfs } from 'node:fs/promises';
import type { HealthEntry } from '../../backend.ts';
import { codeOf } from './files.ts';

/** What is wrong with a volume of which the `noun` cannot be read. */
export function readFault(error: unknown, noun: 'image' | 'directory', id: string): HealthEntry {
  const [code, what] = [codeOf(error), `the ${noun} of volume "${id}"`];
  const name = noun === 'image' ? 'Image' : 'Directory';
  if (code === 'ENOENT')
    return { status: 'DATA_LOSS', reason: `${name}Missing`, message: `${what} is missing` };
  const message = `${what} cannot be read (${code})`;
  return { status: 'INACCESSIBLE', reason: `${name}Unreadable`, message };
}

/** What is wrong with the filesystem below `root` for a volume that may still need so many bytes. */
export async function filesystemFaults(root: string, neededBytes: number): Promise<readonly HealthEntry[]> {
  const status = 'DEGRADED';
  const code = await access(root, constants.W_OK).then(() => undefined, codeOf);
  const { bavail, bsize } = await statfs(root);
  const freeBytes = bavail * bsize;
  const entries: HealthEntry[] = [];
  if (code !== undefined) {
    const message = `the filesystem of the volumes cannot be written (${code})`;
    entries.push({ status, reason: 'PoolReadOnly', message });
  }
  if (freeBytes < neededBytes) {
    const message = `the filesystem of the volumes has ${freeBytes} bytes free, and the volume may need more`;
    entries.push({ status, reason: freeBytes > 0 ? 'PoolTooSmall' : 'PoolFull', message });
  }
  return entries;
}
