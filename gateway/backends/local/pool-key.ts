import { randomBytes } from 'node:crypto';
import { link, readFile, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ignore, syncDirectory } from './files.ts';

const keyBytes = 32;

/** The secret of a pool, 32 bytes in a file that no volume's id can name, for its owner alone; made when it is missing. */
export async function readPoolKey(root: string): Promise<Uint8Array> {
  const path = join(root, '.export-key');
  const found = await readFile(path).catch(ignore('ENOENT'));
  if (found?.length === keyBytes) return found;
  if (found) throw new Error(`"${path}" is no key of ${keyBytes} bytes`);
  await writeFile(`${path}.new`, randomBytes(keyBytes), { mode: 0o600, flush: true });
  await link(`${path}.new`, path);
  await unlink(`${path}.new`);
  await syncDirectory(root);
  return readPoolKey(root);
}
