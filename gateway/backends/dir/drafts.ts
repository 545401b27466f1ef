import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Problem } from '../../../src/api/problem.ts';
import { describeFailure, runCopying } from '../files/copying.ts';
import { ensureDirectory, syncDirectory } from './directory.ts';
import { draftDirectory, isItemName, look, type Item } from './paths.ts';
import { discard } from './trash.ts';

/** A copy on its way: a directory of its own, in which the tree is made. */
export type Draft = { readonly path: string; readonly item: Item };

/** The drafts of a root. */
export interface Drafts {
  /** A new draft for an item; its name tells which process makes it. */
  create(item: Item): Promise<Draft>;
  /**
   * Takes away what earlier tries to make this item left, whoever made them, each at one instant: it is this process's
   * turn now, and a slow one can no longer give its copy a name.
   */
  removeFor(item: Item): Promise<void>;
}

const namePattern = /^(.+)\.(\d+)-\d+$/;
let count = 0;

/** The drafts below `root`; those of processes that are gone are removed in the background. */
export function openDrafts(root: string): Drafts {
  const directory = draftDirectory(root);

  async function remove(chosen: (name: string) => boolean): Promise<void> {
    if (!(await look(directory))) return;
    await ensureDirectory(directory, root);
    for (const entry of (await readdir(directory)).filter(chosen)) {
      const name = namePattern.exec(entry)?.[1];
      const path = join(directory, entry);
      if (name !== undefined && isItemName(name)) await discard(root, { name, path, what: `"${path}"` });
    }
  }

  // Where that fails now, the next try for the same item comes again and tells.
  remove(name => {
    const pid = Number(namePattern.exec(name)?.[2]);
    return pid > 0 && (pid === process.pid || !isAlive(pid));
  }).catch(() => {});

  return {
    async create(item) {
      await ensureDirectory(directory, root);
      count++;
      const path = join(directory, `${item.name}.${process.pid}-${count}`);
      await mkdir(path, { mode: 0o700 });
      return { path, item };
    },
    removeFor: ({ name }) => remove(entry => namePattern.exec(entry)?.[1] === name),
  };
}

/**
 * Gives a directory its real name, durably. One that has the name already is never replaced (false): it may be in use by
 * now, when this one was made by a process that was slow and has been taken over from.
 */
export async function moveIntoPlace(from: string, { path }: Item): Promise<boolean> {
  const args = ['--no-clobber', '--no-target-directory', '--', from, path];
  const moved = await runCopying('mv', args, 0);
  if (await look(from)) {
    if (await look(path)) return false;
    throw new Problem('UNAVAILABLE', `cannot give "${path}" its name: "mv" ${describeFailure(moved)}`);
  }
  await syncDirectory(join(path, '..'));
  return true;
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
