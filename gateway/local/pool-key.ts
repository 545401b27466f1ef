import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { link, open, readFile, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ignore, syncDirectory } from './files.ts';

const keyBytes = 32;
/** The bytes that a device needs for a key. */
export const keyDeviceBytes = 4_096;

/**
 * Reads the pool's secret, 32 bytes in a file for its owner alone whose name no volume's id can have. Creates it if
 * it is missing.
 */
export async function readPoolKey(root: string): Promise<Uint8Array> {
  const path = join(root, '.export-key');
  const found = await readFile(path).catch(ignore('ENOENT'));
  if (found?.length === keyBytes) return found;
  if (found)
    throw new Error(
      `"${path}" has ${found.length} bytes and not the ${keyBytes} of a key; restore it from a backup`,
    );
  await writeFile(`${path}.new`, randomBytes(keyBytes), { mode: 0o600, flush: true });
  await link(`${path}.new`, path);
  await unlink(`${path}.new`);
  await syncDirectory(root);
  return readPoolKey(root);
}

/** Reads the pool's secret from the first bytes of a block device. A device of zeros gets one. */
export async function readDeviceKey(path: string): Promise<Uint8Array> {
  await using file = await open(path, constants.O_RDWR | constants.O_SYNC);
  const sector = Buffer.alloc(keyDeviceBytes);
  await file.read(sector, 0, keyDeviceBytes, 0);
  if (sector.every(byte => byte === 0)) {
    randomBytes(keyBytes).copy(sector);
    await file.write(sector, 0, keyDeviceBytes, 0);
  }
  return sector.subarray(0, keyBytes);
}
