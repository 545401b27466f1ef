import { readFileSync } from 'node:fs';
import { Problem } from '../../../src/api/problem.ts';
import type { Reach } from '../../../src/api/attachment.ts';
import type { KnownVolume, VolumeRef } from '../../backend.ts';
import { sizeOf } from './files.ts';
import { imagePath } from './paths.ts';

/** How a node reaches the image; FAILED_PRECONDITION when it is missing or smaller than the volume. */
export async function reachImage(root: string, { id, sizeBytes }: KnownVolume): Promise<Reach> {
  const path = imagePath(root, id);
  const found = await sizeOf(path);
  // An image may have grown without that being recorded yet.
  if (found === undefined || found < sizeBytes)
    throw new Problem(
      'FAILED_PRECONDITION',
      `the image of volume "${id}" is missing or smaller than the volume`,
    );
  return { protocol: 'loop', path };
}

/** Observed, not remembered: while a loop device has the image open, a node can read and write it. */
export function requireUnused(root: string, { id }: VolumeRef): void {
  const devices = loopDevicesOf(imagePath(root, id));
  if (devices.length > 0)
    throw new Problem(
      'FAILED_PRECONDITION',
      `volume "${id}" is still in use by /dev/${devices.join(', /dev/')}`,
    );
}

/** The loop devices of this machine that can write to the file. */
export function writableLoopDevicesOf(path: string): readonly string[] {
  return loopDevicesOf(path).filter(device => readAttribute(`${device}/ro`) !== '1');
}

/** The loop devices of this machine that have the file open, by name; one whose file was deleted meanwhile counts. */
function loopDevicesOf(path: string): readonly string[] {
  return listLoops().filter(device => {
    const backing = readAttribute(`${device}/loop/backing_file`);
    return backing === path || backing === `${path} (deleted)`;
  });
}

/** Those that have a file. The kernel keeps many more that are free, and each look at one is a file of its own. */
function listLoops(): readonly string[] {
  const partitions = readText('/proc/partitions') ?? '';
  return [...partitions.matchAll(/ (loop\d+)$/gm)].map(([, name = '']) => name);
}

/** Undefined when the device has gone or is not set up. */
function readAttribute(name: string): string | undefined {
  return readText(`/sys/block/${name}`)?.replace(/\n$/, '');
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENXIO' || code === 'ENODEV') return undefined;
    throw error;
  }
}
