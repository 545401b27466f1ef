import { mkdirSync, readdirSync, unlinkSync } from 'node:fs';
import { link, unlink } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { ignoreMissing } from './problems.ts';

/** A file on its way: written under a name of its own, and given its real name once it is whole and durable. */
export type Draft = { readonly path: string; readonly target: string };

/** The drafts of a pool. They lie in a directory of their own, so that a large pool is not searched for them. */
export interface Drafts {
  /** A new draft for a target; its name tells which process makes it. Nothing is written yet. */
  create(target: string): Draft;
  /** Removes what earlier tries to make this file left, whoever made them: it is this process's turn now. */
  removeFor(target: string): void;
}

const namePattern = /^(.+)\.(\d+)-\d+$/;
let count = 0;

/** The drafts of the pool below `root`; those of processes that are gone are removed. */
export function openDrafts(root: string): Drafts {
  const directory = join(root, 'drafts');
  remove(name => {
    const pid = Number(namePattern.exec(name)?.[2]);
    return pid > 0 && (pid === process.pid || !isAlive(pid));
  });

  function remove(chosen: (name: string) => boolean): void {
    for (const name of namesIn(directory).filter(chosen)) {
      try {
        unlinkSync(join(directory, name));
      } catch (error) {
        ignoreMissing(error);
      }
    }
  }

  return {
    create(target) {
      mkdirSync(directory, { recursive: true, mode: 0o700 });
      count++;
      return { path: join(directory, `${basename(target)}.${process.pid}-${count}`), target };
    },
    removeFor: target => remove(name => namePattern.exec(name)?.[1] === basename(target)),
  };
}

/**
 * Gives the draft its real name. A file that has the name already is never replaced (false): it may be in use by now,
 * when this draft was made by a process that was slow and has been taken over from.
 */
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

/** Removes the draft; one that is gone is fine. */
export async function discardDraft({ path }: Draft): Promise<void> {
  await unlink(path).catch(ignoreMissing);
}

/** The names in a directory; none when it is not there. */
export function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

/** True while there is a process with this id. */
export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
