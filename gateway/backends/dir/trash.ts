import { readdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { Problem } from '../../../src/api/problem.ts';
import { exec } from '../../../src/lib/exec.ts';
import { ensureDirectory, syncDirectory } from './directory.ts';
import { look, lookAtVolume, trashDirectory, trashedId, trashName, volumePath } from './paths.ts';

/** How long one removal may take before the next call goes on with it, in milliseconds. */
const removeTimeoutMs = 120_000;

/**
 * Takes a volume's directory away at one instant, durably, and then removes what is in it: it never shows as half a
 * volume. Run again it goes on where it stood.
 */
export async function discard(root: string, id: string): Promise<void> {
  const trash = trashDirectory(root);
  if (await lookAtVolume(root, id)) {
    await ensureDirectory(trash, root);
    await rename(volumePath(root, id), join(trash, trashName(id)));
    await syncDirectory(trash);
    await syncDirectory(root);
  }
  await emptyTrash(root, id);
}

/** Removes what is in the trash of a volume; nothing there is fine. */
export async function emptyTrash(root: string, id: string): Promise<void> {
  for (const name of await listTrash(root))
    if (trashedId(name) === id) await remove(join(trashDirectory(root), name));
}

/** The volumes that are in the trash, by id. */
export async function listTrashed(root: string): Promise<readonly string[]> {
  const ids = (await listTrash(root)).map(trashedId);
  return [...new Set(ids.filter(id => id !== undefined))];
}

async function listTrash(root: string): Promise<readonly string[]> {
  const trash = trashDirectory(root);
  const found = await look(trash);
  if (!found) return [];
  if (!found.isDirectory()) throw new Problem('FAILED_PRECONDITION', `"${trash}" is no directory`);
  return readdir(trash);
}

/** Links in it are removed and never followed; what is mounted in it stays, and is an error. */
async function remove(path: string): Promise<void> {
  const args = ['-r', '-f', '--one-file-system', '--', path];
  const { status, missing, timedOut, stderr } = await exec('rm', args, { timeoutMs: removeTimeoutMs });
  if (status === 0) return;
  if (missing) throw new Problem('FAILED_PRECONDITION', '"rm" is not installed');
  if (timedOut)
    throw new Problem('DEADLINE_EXCEEDED', `"${path}" is not removed yet; the next call goes on with it`);
  throw new Problem('UNAVAILABLE', `cannot remove "${path}": ${stderr.trim().split('\n', 1)[0]}`);
}
