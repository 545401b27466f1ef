import { randomBytes } from 'node:crypto';
import { lstat, mkdir, readdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { Problem } from '../../../src/api/problem.ts';
import { exec } from '../../../src/lib/exec.ts';
import { commandProblem, ignore, isId, syncDirectory } from '../local/files.ts';

/** A directory that no volume's id can name. */
const trashName = '.trash';

/** How long one removal may take before the next call continues it, in milliseconds. */
const removeTimeoutMs = 120_000;

/**
 * Takes a volume's directory away at one instant, durably, and then removes what is in it: it never shows as half a
 * volume. Run again it continues where it stood.
 */
export async function discard(root: string, id: string, path: string | undefined): Promise<void> {
  if (path !== undefined) {
    const trash = join(root, trashName);
    await mkdir(trash, { mode: 0o700 }).catch(ignore('EEXIST'));
    await hasDirectory(trash);
    await rename(path, join(trash, `${id}.${randomBytes(8).toString('hex')}`));
    await syncDirectory(trash);
    await syncDirectory(root);
  }
  await emptyTrash(root, one => one === id);
}

/** Removes what is in the trash of the chosen volumes; nothing there is fine. */
export async function emptyTrash(root: string, isChosen: (id: string) => boolean): Promise<void> {
  const trash = join(root, trashName);
  if (!(await hasDirectory(trash))) return;
  for (const entry of await readdir(trash)) {
    const [, id = ''] = /^(.+)\.[0-9a-f]{16}$/.exec(entry) ?? [];
    if (isId(id) && isChosen(id)) await removeTree(join(trash, entry));
  }
}

/** False when nothing is there; FAILED_PRECONDITION for what is no directory, such as a symbolic link. */
export async function hasDirectory(path: string): Promise<boolean> {
  const found = await lstat(path).catch(ignore('ENOENT'));
  if (!found || found.isDirectory()) return found !== undefined;
  throw new Problem('FAILED_PRECONDITION', `"${path}" is not a directory`);
}

/** Removes a tree. Links in it are removed and never followed; what is mounted in it stays, and is an error. */
async function removeTree(path: string): Promise<void> {
  const args = ['-r', '-f', '--one-file-system', '--', path];
  const result = await exec('rm', args, { timeoutMs: removeTimeoutMs });
  if (result.status !== 0) throw commandProblem('rm', `remove "${path}"`, result);
}
