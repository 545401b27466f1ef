import { closeSync, constants, fstatSync, fsync, ftruncateSync, openSync } from 'node:fs';
import { access, readdir, realpath, stat, unlink } from 'node:fs/promises';
import { promisify } from 'node:util';
import { z } from 'zod';
import { Problem } from '../../src/api/problem.ts';
import { absolutePath, bytes } from '../../src/lib/parsers.ts';
import type { SettingsOf } from '../../src/lib/settings.ts';
import type { Backend, BackendPlugin, NewVolume } from '../backend.ts';
import { chooseSize } from '../sizes.ts';
import { loopDevicesOf } from './image/loop-devices.ts';
import { createRoom, imageId, imagePath } from './image/room.ts';

const settings = {
  'image-dir': {
    doc: 'directory of the image files; it must be at the same path on the node that uses them',
    parse: absolutePath,
  },
  'image-capacity': {
    doc: 'bytes that all images together may have, such as 100Gi; else what the filesystem can hold at the start',
    parse: bytes,
    optional: true,
  },
} as const;

/** Volumes as sparse files in a directory of this machine, used on this machine through loop devices. */
export const image: BackendPlugin<typeof settings> = { settings, open: openImages };

const stepBytes = 2 ** 20;
const defaultBytes = 2 ** 30;
const { O_CREAT, O_DIRECTORY, O_NOFOLLOW, O_RDONLY, O_RDWR } = constants;
const sync = promisify(fsync);

async function openImages(values: SettingsOf<typeof settings>): Promise<Backend> {
  const root = await requireDirectory(values['image-dir']);
  const room = createRoom(root, values['image-capacity']);
  const bounds = { minimumBytes: stepBytes, maximumBytes: room.totalBytes, stepBytes, defaultBytes };
  const directory = openSync(root, O_RDONLY | O_DIRECTORY);
  let syncing: Promise<void> | undefined;

  /** Makes the directory's entries durable; calls at about the same time share one fsync. */
  function syncDirectory(): Promise<void> {
    syncing ??= new Promise(setImmediate).then(() => {
      syncing = undefined;
      return sync(directory);
    });
    return syncing;
  }

  /** An image that has a size is complete, and is kept as it is; an empty one gets its size. */
  async function complete(fd: number, volume: NewVolume): Promise<number> {
    const { size } = fstatSync(fd);
    const sizeBytes = size > 0 ? requireWithin(size, volume) : chooseSize(volume, bounds);
    room.take(volume.id, sizeBytes);
    if (size === 0) ftruncateSync(fd, sizeBytes);
    await sync(fd);
    return sizeBytes;
  }

  async function remove(id: string): Promise<void> {
    await unlink(imagePath(root, id)).catch(ignoreMissing);
    room.free(id);
    await syncDirectory();
  }

  return {
    name: 'image',
    accessModes: [
      'SINGLE_NODE_WRITER',
      'SINGLE_NODE_READER_ONLY',
      'SINGLE_NODE_SINGLE_WRITER',
      'SINGLE_NODE_MULTI_WRITER',
    ],
    accessTypes: ['mount', 'block'],
    parameters: z.strictObject({}),

    async create(volume) {
      const fd = openImage(root, volume.id);
      const wasEmpty = fstatSync(fd).size === 0;
      try {
        const sizeBytes = await complete(fd, volume);
        await syncDirectory();
        return { sizeBytes };
      } catch (error) {
        if (wasEmpty) await remove(volume.id);
        throw toProblem(error, volume.id);
      } finally {
        closeSync(fd);
      }
    },

    async delete({ id }) {
      requireUnused(root, id);
      await remove(id);
    },

    async attach({ id, sizeBytes }) {
      const path = imagePath(root, id);
      const found = await stat(path).catch(ignoreMissing);
      if (found?.size !== sizeBytes)
        throw new Problem(
          'FAILED_PRECONDITION',
          `the image of volume "${id}" is missing or has another size`,
        );
      return { protocol: 'loop', path };
    },

    async detach({ id }) {
      requireUnused(root, id);
    },

    async capacity() {
      const largest = Math.floor(room.freeBytes / stepBytes) * stepBytes;
      return {
        availableBytes: room.freeBytes,
        minimumVolumeBytes: stepBytes,
        maximumVolumeBytes: largest,
      };
    },

    async *list() {
      for (const name of await readdir(root)) {
        const id = imageId(name);
        if (id !== undefined) yield id;
      }
    },

    async close() {
      await syncing;
      closeSync(directory);
    },
  };
}

/** The directory without links in its path, as the kernel shows it for a loop device's file. */
async function requireDirectory(path: string): Promise<string> {
  try {
    const root = await realpath(path);
    if (!(await stat(root)).isDirectory()) throw new Error('it is not a directory');
    await access(root, constants.W_OK | constants.X_OK);
    return root;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const reasons: Readonly<Record<string, string>> = {
      ENOENT: 'there is no such directory',
      EACCES: 'no permission to write to it',
      EROFS: 'its filesystem is read-only',
    };
    throw new Error(`cannot use the image directory "${path}": ${reasons[code ?? ''] ?? message}`, {
      cause: error,
    });
  }
}

function openImage(root: string, id: string): number {
  try {
    return openSync(imagePath(root, id), O_RDWR | O_CREAT | O_NOFOLLOW, 0o600);
  } catch (error) {
    throw toProblem(error, id);
  }
}

/** Data is never cut off nor handed to another volume: an image of another size is left as it is. */
function requireWithin(size: number, { id, requiredBytes, limitBytes }: NewVolume): number {
  if (size < requiredBytes || (limitBytes > 0 && size > limitBytes))
    throw new Problem('ALREADY_EXISTS', `an image of volume "${id}" is there already, with ${size} bytes`);
  return size;
}

/** Observed, not remembered: while a loop device has the image open, a node can read and write it. */
function requireUnused(root: string, id: string): void {
  const devices = loopDevicesOf(imagePath(root, id));
  if (devices.length > 0)
    throw new Problem(
      'FAILED_PRECONDITION',
      `volume "${id}" is still in use by /dev/${devices.join(', /dev/')}`,
    );
}

function toProblem(error: unknown, id: string): Problem {
  if (error instanceof Problem) return error;
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'ENOSPC' || code === 'EDQUOT')
    return new Problem('RESOURCE_EXHAUSTED', `the filesystem of the images is full (${code})`, error);
  if (code === 'EFBIG')
    return new Problem(
      'OUT_OF_RANGE',
      'the filesystem of the images does not take files of this size',
      error,
    );
  return new Problem(
    'UNAVAILABLE',
    `cannot make the image of volume "${id}" (${code ?? 'unknown error'})`,
    error,
  );
}

function ignoreMissing(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  return undefined;
}
