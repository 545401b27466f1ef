import { readFileSync } from 'node:fs';
import { preconditionProblem } from '../../../src/api/problem.ts';
import type { VolumeRef } from '../../backend.ts';
import { codeOf } from '../local/files.ts';
import type { ImagePool } from './pool.ts';

/** Observed, not remembered: while a loop device has the image open, a node can read and write it. */
export function requireUnused({ images }: ImagePool, { id }: VolumeRef): void {
  const devices = loopDevicesOf(images.pathOf(id));
  if (devices.length > 0)
    throw preconditionProblem(`volume "${id}" is still in use by /dev/${devices.join(', /dev/')}`);
}

/** The loop devices of this machine that can write to the file. */
export function writableLoopDevicesOf(path: string): readonly string[] {
  return loopDevicesOf(path).filter(device => readText(`/sys/block/${device}/ro`) !== '1');
}

/** The loop devices of this machine that have the file open, by name; one whose file was deleted meanwhile counts. */
function loopDevicesOf(path: string): readonly string[] {
  // Those that have a file. The kernel has many more that are free, and each look at one is a file of its own.
  const partitions = readText('/proc/partitions') ?? '';
  const names = [...partitions.matchAll(/ (loop\d+)$/gm)].map(([, name = '']) => name);
  return names.filter(name => {
    const backing = readText(`/sys/block/${name}/loop/backing_file`);
    return backing === path || backing === `${path} (deleted)`;
  });
}

/** Undefined when the device is disconnected or not set up. */
function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trimEnd();
  } catch (error) {
    if (['ENOENT', 'ENXIO', 'ENODEV'].includes(codeOf(error))) return undefined;
    throw error;
  }
}
