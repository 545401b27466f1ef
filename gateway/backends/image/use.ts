import { readdirSync, readFileSync } from 'node:fs';
import { Problem } from '../../../src/api/problem.ts';
import type { Reach } from '../../../src/api/attachment.ts';
import type { KnownVolume, VolumeRef } from '../../backend.ts';
import { sizeOf } from './files.ts';
import { imagePath } from './paths.ts';

const blockDevices = '/sys/block';

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

function listLoops(): readonly string[] {
  try {
    return readdirSync(blockDevices).filter(name => name.startsWith('loop'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

/** Without its newline; undefined when the device has gone or is not set up. */
function readAttribute(name: string): string | undefined {
  try {
    return readFileSync(`${blockDevices}/${name}`, 'utf8').replace(/\n$/, '');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENXIO' || code === 'ENODEV') return undefined;
    throw error;
  }
}
