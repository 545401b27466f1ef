import { randomBytes } from 'node:crypto';
import { mkdir, readdir, rename, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { exec } from '../../../src/lib/exec.ts';
import { commandProblem, ignore } from '../../local/files.ts';
import { mark, requireMadeFor, unmark } from '../../local/marks.ts';
import { hasDirectory, type Copy, type Filesystems } from './filesystems.ts';
import { btrfsType, isSubvolume } from './root.ts';

/** The time limit for one command, in ms: a snapshot writes the cached data of its source first. */
const timeoutMs = 120_000;
/** The directory of unfinished copies; no volume's id is equal to this name. */
const draftsName = '.drafts';

/**
 * Finds the means to copy directories at one instant: subvolumes of btrfs, which only root may delete. Undefined on another
 * filesystem.
 */
export async function findSubvolumes(root: string): Promise<Filesystems | undefined> {
  const isPossible = process.getuid?.() === 0 && (await statfs(root)).type === btrfsType;
  const { status } = isPossible ? await exec('btrfs', ['--version'], { timeoutMs }) : { status: 1 };
  if (status !== 0) return undefined;
  const drafts = join(root, draftsName);

  async function copyAs(target: string, { source, nonce, what }: Omit<Copy, 'target' | 'readonly'>) {
    if (!hasDirectory(drafts)) await mkdir(drafts, { mode: 0o700 }).catch(ignore('EEXIST'));
    const draft = join(drafts, randomBytes(8).toString('hex'));
    try {
      await run(['subvolume', 'snapshot', '--', source, draft], `make ${what}`);
      unmark(target);
      mark(target, nonce, { made: draft, what });
      await rename(draft, target);
    } finally {
      await remove(draft);
    }
  }

  return {
    /** Removes the drafts of interrupted copies. */
    async removeLeftovers() {
      if (!hasDirectory(drafts)) return;
      for (const name of await readdir(drafts)) await remove(join(drafts, name));
    },
    has: isSubvolume,
    async create(path) {
      if (hasDirectory(path)) return;
      // All subvolumes have the same inode number, so the mark of a removed one would count.
      unmark(path);
      await run(['subvolume', 'create', '--', path], `create "${path}"`);
    },
    async copy({ source, target, nonce, readonly, what }) {
      if (hasDirectory(target)) requireMadeFor(target, nonce, what);
      else await copyAs(target, { source, nonce, what });
      // A read-only subvolume cannot be moved, so it becomes one last.
      if (readonly) await run(['property', 'set', '-ts', target, 'ro', 'true'], `make ${what}`);
    },
    remove,
  };
}

async function remove(path: string): Promise<void> {
  if (!hasDirectory(path)) return;
  await run(['subvolume', 'delete', '--', path], `delete "${path}"`);
}

/** Runs a command that ends with the gateway: a copy that finishes later would be an unknown draft. */
async function run(args: readonly string[], work: string): Promise<void> {
  const command = ['--pdeathsig', 'KILL', '--', 'btrfs', ...args];
  const result = await exec('setpriv', command, { timeoutMs });
  if (result.status !== 0) throw commandProblem('btrfs', work, result);
}
