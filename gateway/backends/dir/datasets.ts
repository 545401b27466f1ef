import { randomBytes } from 'node:crypto';
import { readdir, realpath, rmdir, statfs } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { Problem, unavailableProblem } from '../../../src/api/problem.ts';
import { exec, type ExecResult } from '../../../src/lib/exec.ts';
import { nearestMount, parseMountinfo, topMount, type Mount } from '../../../src/lib/linux/mountinfo.ts';
import { commandProblem, fullBytes } from '../../local/files.ts';
import { isMarked, mark, requireMadeFor, unmark } from '../../local/marks.ts';
import { hasDirectory, readMountinfo, type Copy } from './filesystems.ts';

const timeoutMs = 120_000;
/** The maximum output for a dataset with very many snapshots, in characters. */
const maxOutput = 2 ** 27;
/** The snapshot of a source, which ZFS destroys together with its last copy. */
const copyName = /@fairlead\.[0-9a-f]{16}$/;
/** A removed filesystem. */
const removedName = /\/\.trash\/[0-9a-f]{16}$/;
/** The datasets of all snapshots, and of removed filesystems, which are not mounted. */
const containers = { '.snapshots': 'canmount=off', '.trash': 'mountpoint=none' } as const;

/** The filesystems of ZFS below that of a pool's directory: `Filesystems` with a `Quota`. */
export type Datasets = NonNullable<Awaited<ReturnType<typeof findDatasets>>>;

/**
 * Finds the filesystem of ZFS whose mountpoint is the directory: each volume can then be a filesystem below it. Undefined
 * for another directory, or where this process cannot change ZFS.
 */
export async function findDatasets(directory: string) {
  const root = await realpath(directory);
  const mount = nearestMount(await readMounts(), root);
  const isWhole = mount?.type === 'zfs' && mount.path === root && mount.root === '/';
  if (!isWhole || process.getuid?.() !== 0) return undefined;
  const dataset = mount.source;
  const found = await zfs(['get', '-H', '-o', 'value', 'mountpoint', '--', dataset]);
  if (found.timedOut) throw commandProblem('zfs get', `read dataset "${dataset}"`, found);
  return found.stdout === `${root}\n` ? createDatasets(root, dataset) : undefined;
}

function createDatasets(root: string, dataset: string) {
  const trash = `${dataset}/.trash`;
  const nameOf = (path: string): string => `${dataset}/${relative(root, path)}`;
  const isMounted = async (path: string): Promise<boolean> =>
    topMount(await readMounts(), path)?.source === nameOf(path);
  const list = async (args: readonly string[]): Promise<readonly (readonly string[])[]> =>
    (await run(['list', '-Hp', ...args], `read dataset "${dataset}"`))
      .split('\n')
      .filter(Boolean)
      .map(line => line.split('\t'));

  /** Runs a command. RESOURCE_EXHAUSTED when the storage pool is full. */
  async function run(args: readonly string[], work: string): Promise<string> {
    const result = await zfs(args);
    if (result.status === 0) return result.stdout;
    const { bavail, bsize } = await statfs(root);
    if (bavail * bsize < fullBytes)
      throw new Problem('RESOURCE_EXHAUSTED', `cannot ${work}: dataset "${dataset}" is full`);
    throw commandProblem(`zfs ${args[0]}`, work, result);
  }

  async function has(path: string): Promise<boolean> {
    if (await isMounted(path)) return true;
    if ((await zfs(['list', '-H', '-o', 'name', '--', nameOf(path)])).status === 0) return true;
    // The dataset itself can be read, so the other one is missing.
    await list(['-o', 'name', '--', dataset]);
    return false;
  }

  async function requireMounted(path: string): Promise<void> {
    if ((await isMounted(path)) || !(await has(path))) return;
    throw unavailableProblem(`"${path}" is not mounted; run: zfs mount ${nameOf(path)}`);
  }

  /** True if the path has a filesystem, which is mounted then, or a directory from before the pool had filesystems. */
  async function isInUse(path: string): Promise<boolean> {
    if (await has(path)) {
      if (!(await isMounted(path))) await run(['mount', nameOf(path)], `mount "${path}"`);
      return true;
    }
    return hasDirectory(path) && (isMarked(path) || (await readdir(path)).length > 0);
  }

  /** Frees the blocks that removed filesystems no longer share with their copies. */
  async function emptyTrash(): Promise<void> {
    const which = ['-r', '-t', 'filesystem,snapshot', '-s', 'createtxg', '-o', 'name,written', '--', trash];
    const rows = await list(which);
    let hasDestroyed = false;
    for (const [name = '', written] of rows) {
      if (!removedName.test(name)) continue;
      const newest = rows.findLast(([other]) => other?.startsWith(`${name}@`))?.[0];
      // Others can prevent both, by a bookmark or a process. They are tried again with the next removal.
      if (newest !== undefined && written !== '0') await zfs(['rollback', newest]);
      if (newest === undefined && (await zfs(['destroy', name])).status === 0) hasDestroyed = true;
    }
    // Its source may be free now.
    if (hasDestroyed) await emptyTrash();
  }

  return {
    has,
    requireMounted,
    /** True for the mount of the filesystem in the pool's directory, also where another mount shows that directory. */
    isOwnMount(mount: Mount, path: string, mounts: readonly Mount[]): boolean {
      const above = mounts.find(({ id }) => id === mount.parentId);
      const place = above?.source === dataset && join(above.path, relative(root, path));
      return mount.source === nameOf(path) && mount.path === place;
    },
    async removeLeftovers(): Promise<void> {
      const which = ['-r', '-t', 'filesystem,snapshot', '-o', 'name,defer_destroy', '--', dataset];
      const rows = await list(which);
      for (const [last, option] of Object.entries(containers)) {
        const name = `${dataset}/${last}`;
        if (!rows.some(([other]) => other === name))
          await run(['create', '-o', option, name], `create "${name}"`);
      }
      for (const [name = '', isDeferred] of rows)
        if (copyName.test(name) && isDeferred === 'off')
          await run(['destroy', '-d', name], `destroy "${name}"`);
      await emptyTrash();
    },
    async create(path: string): Promise<void> {
      if (await isInUse(path)) return;
      // The roots of all filesystems have the same inode number, so the mark of a removed one would count.
      unmark(path);
      await run(['create', nameOf(path)], `create "${path}"`);
    },
    async copy({ source, target, nonce, readonly, what }: Copy): Promise<void> {
      if (await isInUse(target)) return requireMadeFor(target, nonce, what);
      await requireMounted(source);
      unmark(target);
      // The root of a copy has the inode number of its source's.
      mark(target, nonce, { made: source, what });
      const snapshot = `${nameOf(source)}@fairlead.${randomBytes(8).toString('hex')}`;
      await run(['snapshot', snapshot], `make ${what}`);
      try {
        const options = readonly ? ['-o', 'readonly=on'] : [];
        await run(['clone', ...options, snapshot, nameOf(target)], `make ${what}`);
      } finally {
        await run(['destroy', '-d', snapshot], `make ${what}`);
      }
    },
    /**
     * Keeps a filesystem that is in use, without a mount, until it is free: by snapshots for its copies or of other
     * people, or by files that a node had open when it was cut off. A copy with these snapshots would show its user the
     * past of the source.
     */
    async remove(path: string): Promise<void> {
      if (await has(path)) {
        // ZFS itself cannot unmount it while a file is open.
        if (await isMounted(path)) await execOnMachine('umount', ['--lazy', '--', path]);
        await run(['rename', nameOf(path), `${trash}/${randomBytes(8).toString('hex')}`], `remove "${path}"`);
      }
      await emptyTrash();
      // Data that was written to the directory while it was not mounted is no part of the filesystem.
      await rmdir(path).catch(() => {});
    },
    async limit(path: string, bytes: number): Promise<void> {
      if (await has(path))
        await run(['set', `refquota=${bytes}`, nameOf(path)], `limit the size of "${path}"`);
    },
    /** The bytes that the dataset uses and that it has available. */
    async measure(): Promise<number> {
      const sizes = await run(
        ['get', '-Hp', '-o', 'value', 'used,available', '--', dataset],
        `read dataset "${dataset}"`,
      );
      return sizes.split('\n').reduce((sum, size) => sum + Number(size), 0);
    },
  };
}

async function readMounts(): Promise<readonly Mount[]> {
  return parseMountinfo(await readMountinfo());
}

function zfs(args: readonly string[]): Promise<ExecResult> {
  return execOnMachine('zfs', args);
}

/**
 * Runs a program where the machine's own programs run, such as the NFS server, because they do not see the mounts that a
 * service with a mount namespace of its own makes.
 */
function execOnMachine(program: string, args: readonly string[]): Promise<ExecResult> {
  const guarded = ['--pdeathsig', 'KILL', '--', 'nsenter', '--mount=/proc/1/ns/mnt', '--', program];
  return exec('setpriv', [...guarded, ...args], { timeoutMs, maxOutput });
}
