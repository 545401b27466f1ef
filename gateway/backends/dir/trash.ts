import { randomBytes } from 'node:crypto';
import { readdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { Problem } from '../../../src/api/problem.ts';
import { exec } from '../../../src/lib/exec.ts';
import {
  ensureDirectory,
  isThere,
  isVolumeId,
  statPath,
  syncDirectory,
  type VolumeDirectory,
} from './paths.ts';

/** How long one removal may take before the next call continues it, in milliseconds. */
const removeTimeoutMs = 120_000;

/**
 * Takes a volume's directory away at one instant, durably, and then removes what is in it: it never shows as half a
 * volume. Run again it continues where it stood.
 */
export async function discard(root: string, volume: VolumeDirectory): Promise<void> {
  const trash = trashDirectory(root);
  if (await isThere(volume)) {
    await ensureDirectory(trash);
    await rename(volume.path, join(trash, `${volume.id}.${randomBytes(8).toString('hex')}`));
    await syncDirectory(trash);
    await syncDirectory(root);
  }
  await emptyTrash(root, id => id === volume.id);
}

/** Removes what is in the trash of the chosen volumes; nothing there is fine. */
export async function emptyTrash(root: string, isChosen: (id: string) => boolean): Promise<void> {
  const trash = trashDirectory(root);
  const found = await statPath(trash);
  if (!found) return;
  if (!found.isDirectory()) throw new Problem('FAILED_PRECONDITION', `"${trash}" is not a directory`);
  for (const entry of await readdir(trash)) {
    const id = trashedId(entry);
    if (id !== undefined && isChosen(id)) await removeTree(join(trash, entry));
  }
}

/** A directory that no volume's id can name. */
function trashDirectory(root: string): string {
  return join(root, '.trash');
}

/** The id of the volume that an entry of the trash was; undefined when it is something else. */
function trashedId(entry: string): string | undefined {
  const [, id] = /^(.+)\.[0-9a-f]{16}$/.exec(entry) ?? [];
  return id !== undefined && isVolumeId(id) ? id : undefined;
}

/** Removes a tree. Links in it are removed and never followed; what is mounted in it stays, and is an error. */
async function removeTree(path: string): Promise<void> {
  const args = ['-r', '-f', '--one-file-system', '--', path];
  const { status, missing, timedOut, stderr } = await exec('rm', args, { timeoutMs: removeTimeoutMs });
  if (status === 0) return;
  if (missing) throw new Problem('FAILED_PRECONDITION', '"rm" is not installed');
  if (timedOut)
    throw new Problem('DEADLINE_EXCEEDED', `"${path}" is not removed yet; the next call continues`);
  throw new Problem('UNAVAILABLE', `cannot remove "${path}": ${stderr.trim().split('\n', 1)[0]}`);
}
