import { existsSync, readFileSync, statSync } from 'node:fs';
import { codeOf } from '../files.ts';

/** The unit of sizes in sysfs, whatever the disk's own blocks are. */
export const sectorBytes = 512;

/** Reads a file of sysfs; undefined when the device is disconnected or not set up. */
export function readSysfs(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trimEnd();
  } catch (error) {
    if (['ENOENT', 'ENXIO', 'ENODEV'].includes(codeOf(error))) return undefined;
    throw error;
  }
}

/** The directory of a device in sysfs, by the path of its node; undefined when there is no such device. */
export function homeOf(path: string): string | undefined {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  const home = found && `/sys/dev/block/${deviceNumber(found.rdev)}`;
  return home !== undefined && existsSync(home) ? home : undefined;
}

/** The size of a block device in bytes, by the path of its node; undefined when there is no such device. */
export function deviceSize(path: string): number | undefined {
  const home = homeOf(path);
  const sectors = home === undefined ? undefined : readSysfs(`${home}/size`);
  return sectors === undefined ? undefined : Number(sectors) * sectorBytes;
}

/** Formats the number of a device, as `stat` returns it, as `major:minor`. */
export function deviceNumber(number: bigint): string {
  const major = ((number >> 8n) & 0xfffn) | ((number >> 32n) & ~0xfffn);
  const minor = (number & 0xffn) | ((number >> 12n) & ~0xffn);
  return `${major}:${minor}`;
}
