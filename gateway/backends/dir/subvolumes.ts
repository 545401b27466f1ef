import { randomBytes } from 'node:crypto';
import { mkdir, readdir, rename, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { exec } from '../../../src/lib/exec.ts';
import { commandProblem, ignore } from '../../local/files.ts';
import { mark, requireMadeFor, unmark } from '../../local/marks.ts';
import { btrfsType, hasDirectory } from './root.ts';

/** The time limit for one command, in ms: a snapshot writes the cached data of its source first. */
const timeoutMs = 120_000;
/** The directory of unfinished copies; no volume's id is equal to this name. */
const draftsName = '.drafts';

export type Subvolumes = Awaited<ReturnType<typeof findSubvolumes>>;

/** A copy of a subvolume. `what` names the copy in messages. */
type Copy = {
  readonly source: string;
  readonly target: string;
  readonly nonce: string;
  readonly readonly: boolean;
  readonly what: string;
};

/** Opens the subvolumes of a pool's directory, and removes the drafts of interrupted copies. */
export async function openSubvolumes(root: string): Promise<Subvolumes> {
  const subvolumes = await findSubvolumes(root);
  await subvolumes?.removeDrafts();
  return subvolumes;
}

/**
 * Finds the means to copy directories at one instant: subvolumes of btrfs, which only root may delete. Undefined on another
 * filesystem.
 */
export async function findSubvolumes(root: string) {
  const isPossible = process.getuid?.() === 0 && (await statfs(root)).type === btrfsType;
  const { status } = isPossible ? await exec('btrfs', ['--version'], { timeoutMs }) : { status: 1 };
  if (status !== 0) return undefined;
  const drafts = join(root, draftsName);

  async function removeDrafts(): Promise<void> {
    if (!hasDirectory(drafts)) return;
    for (const name of await readdir(drafts)) await remove(join(drafts, name));
  }

  async function copyAs(target: string, { source, nonce, what }: Omit<Copy, 'target' | 'readonly'>) {
    if (!hasDirectory(drafts)) await mkdir(drafts, { mode: 0o700 }).catch(ignore('EEXIST'));
    const draft = join(drafts, randomBytes(8).toString('hex'));
    try {
      await run(['subvolume', 'snapshot', '--', source, draft], `make ${what}`);
      unmark(target);
      mark(target, nonce, { made: draft, what });
      await rename(draft, target);
    } finally {
      if (hasDirectory(draft)) await remove(draft);
    }
  }

  return {
    removeDrafts,
    async create(path: string): Promise<void> {
      // All subvolumes have the same inode number, so the mark of a removed one would count.
      unmark(path);
      await run(['subvolume', 'create', '--', path], `create "${path}"`);
    },
    /**
     * Copies a subvolume as it is at one instant, and gives the copy its name last, so that a copy with a name is
     * complete. A target that exists already stays; it is ALREADY_EXISTS when it was made for another record.
     */
    async copy({ source, target, nonce, readonly, what }: Copy): Promise<void> {
      if (hasDirectory(target)) requireMadeFor(target, nonce, what);
      else await copyAs(target, { source, nonce, what });
      // A read-only subvolume cannot be moved, so it becomes one last.
      if (readonly) await run(['property', 'set', '-ts', target, 'ro', 'true'], `make ${what}`);
    },
    remove,
  };
}

/** Deletes a subvolume in one step. */
async function remove(path: string): Promise<void> {
  await run(['subvolume', 'delete', '--', path], `delete "${path}"`);
}

async function run(args: readonly string[], work: string): Promise<void> {
  const command = ['setpriv', '--pdeathsig', 'KILL', '--', 'btrfs', ...args];
  const [program = '', ...rest] = command;
  const result = await exec(program, rest, { timeoutMs });
  if (result.status !== 0) throw commandProblem('btrfs', work, result);
}
