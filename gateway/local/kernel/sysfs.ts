import { readFileSync } from 'node:fs';
import { codeOf } from '../files.ts';

/** Reads a file of sysfs; undefined when the device is disconnected or not set up. */
export function readSysfs(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trimEnd();
  } catch (error) {
    if (['ENOENT', 'ENXIO', 'ENODEV'].includes(codeOf(error))) return undefined;
    throw error;
  }
}

/** Formats the number of a device, as `stat` returns it, as `major:minor`. */
export function deviceNumber(number: bigint): string {
  const major = ((number >> 8n) & 0xfffn) | ((number >> 32n) & ~0xfffn);
  const minor = (number & 0xffn) | ((number >> 12n) & ~0xffn);
  return `${major}:${minor}`;
}
