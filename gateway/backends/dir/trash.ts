import { readdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { Problem } from '../../../src/api/problem.ts';
import { exec } from '../../../src/lib/exec.ts';
import { ensureDirectory, syncDirectory } from './directory.ts';
import { look, lookAt, trashDirectory, trashedName, trashName, type Item } from './paths.ts';
import { deleteSubvolumes } from './subvolumes.ts';

/** How long one removal may take before the next call goes on with it, in milliseconds. */
const removeTimeoutMs = 120_000;

/**
 * Takes an item's directory away at one instant, durably, and then removes what is in it: it never shows as half a
 * volume. Run again it goes on where it stood.
 */
export async function discard(root: string, item: Item): Promise<void> {
  const trash = trashDirectory(root);
  if (await lookAt(item)) {
    await ensureDirectory(trash, root);
    await rename(item.path, join(trash, trashName(item)));
    await syncDirectory(trash);
    await syncDirectory(join(item.path, '..'));
  }
  await emptyTrash(root, item.name);
}

/** Removes what is in the trash of an item; nothing there is fine. */
export async function emptyTrash(root: string, name: string): Promise<void> {
  for (const entry of await listTrash(root))
    if (trashedName(entry) === name) await removeTree(join(trashDirectory(root), entry));
}

/** The items that are in the trash, by name. */
export async function listTrashed(root: string): Promise<readonly string[]> {
  const names = (await listTrash(root)).map(trashedName);
  return [...new Set(names.filter(name => name !== undefined))];
}

async function listTrash(root: string): Promise<readonly string[]> {
  const trash = trashDirectory(root);
  const found = await look(trash);
  if (!found) return [];
  if (!found.isDirectory()) throw new Problem('FAILED_PRECONDITION', `"${trash}" is no directory`);
  return readdir(trash);
}

/** Removes a tree. Links in it are removed and never followed; what is mounted in it stays, and is an error. */
async function removeTree(path: string): Promise<void> {
  await deleteSubvolumes(path, removeTimeoutMs);
  const args = ['-r', '-f', '--one-file-system', '--', path];
  const { status, missing, timedOut, stderr } = await exec('rm', args, { timeoutMs: removeTimeoutMs });
  if (status === 0) return;
  if (missing) throw new Problem('FAILED_PRECONDITION', '"rm" is not installed');
  if (timedOut)
    throw new Problem('DEADLINE_EXCEEDED', `"${path}" is not removed yet; the next call goes on with it`);
  throw new Problem('UNAVAILABLE', `cannot remove "${path}": ${stderr.trim().split('\n', 1)[0]}`);
}
