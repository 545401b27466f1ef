import { constants } from 'node:fs';
import { access, open, statfs } from 'node:fs/promises';
import type { HealthEntry, KnownVolume } from '../../backend.ts';
import { imagePath } from './paths.ts';

const probeBytes = 4_096;

/** What is wrong with a volume's image and with the filesystem that it lies on. */
export async function healthOf(root: string, volume: KnownVolume): Promise<readonly HealthEntry[]> {
  const image = await inspect(imagePath(root, volume.id));
  if ('code' in image) return [unreachable(image.code, volume)];
  const entries = [sizeFault(image.sizeBytes, volume), await writeFault(root), await spaceFault(root, image)];
  return entries.filter(entry => entry !== undefined);
}

type Image = { readonly sizeBytes: number; readonly unfilledBytes: number };

/** Opens the image and reads from it; or returns the code with which that failed. */
async function inspect(path: string): Promise<Image | { readonly code: string }> {
  try {
    await using file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
    const { size, blocks } = await file.stat();
    await file.read(Buffer.alloc(probeBytes), 0, probeBytes, 0);
    return { sizeBytes: size, unfilledBytes: Math.max(0, size - blocks * 512) };
  } catch (error) {
    return { code: (error as NodeJS.ErrnoException).code ?? 'unknown error' };
  }
}

function unreachable(code: string, { id }: KnownVolume): HealthEntry {
  if (code === 'ENOENT')
    return {
      status: 'DATA_LOSS',
      reason: 'ImageMissing',
      message: `the image of volume "${id}" is missing`,
    };
  return {
    status: 'INACCESSIBLE',
    reason: 'ImageUnreadable',
    message: `the image of volume "${id}" cannot be read (${code})`,
  };
}

function sizeFault(found: number, { id, sizeBytes }: KnownVolume): HealthEntry | undefined {
  if (found >= sizeBytes) return undefined;
  const message = `the image of volume "${id}" has ${found} bytes, less than the volume's ${sizeBytes}`;
  return { status: 'DATA_LOSS', reason: 'ImageTruncated', message };
}

async function writeFault(root: string): Promise<HealthEntry | undefined> {
  try {
    await access(root, constants.W_OK);
    return undefined;
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown error';
    const message = `the filesystem of the images cannot be written (${code})`;
    return { status: 'DEGRADED', reason: 'PoolReadOnly', message };
  }
}

/** Images are sparse: what a node writes for the first time needs room in the filesystem. */
async function spaceFault(root: string, { unfilledBytes }: Image): Promise<HealthEntry | undefined> {
  const { bavail, bsize } = await statfs(root);
  const freeBytes = bavail * bsize;
  if (freeBytes >= unfilledBytes) return undefined;
  const message = `the filesystem of the images has ${freeBytes} bytes free, and the volume may need ${unfilledBytes} more`;
  return { status: 'DEGRADED', reason: 'PoolTooSmall', message };
}
