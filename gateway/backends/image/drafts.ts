import { mkdirSync, readdirSync, unlinkSync } from 'node:fs';
import { link, unlink } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { ignoreMissing } from './files.ts';

/** A file that is being made: written under a name of its own, and published once it is whole and durable. */
export type Draft = { readonly path: string; readonly target: string };

/** Names a new draft of a target. Nothing is written yet. */
export type CreateDraft = (target: string) => Draft;

/**
 * The drafts of the pool below `root`. They lie in a directory of their own, so that a large pool is not searched for
 * them. Those that are there when it is opened were interrupted, and are removed.
 */
export function openDrafts(root: string): CreateDraft {
  const directory = join(root, 'drafts');
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  for (const name of readdirSync(directory)) unlinkSync(join(directory, name));
  let count = 0;
  return target => {
    count++;
    return { path: join(directory, `${basename(target)}.${count}`), target };
  };
}

/** Gives the draft its real name. A file that has the name is never replaced: then the draft is discarded (false). */
export async function publishDraft({ path, target }: Draft): Promise<boolean> {
  try {
    await link(path, target);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    return false;
  } finally {
    await discardDraft({ path, target });
  }
}

/** Removes the draft; one that is missing is fine. */
export async function discardDraft({ path }: Draft): Promise<void> {
  await unlink(path).catch(ignoreMissing);
}
