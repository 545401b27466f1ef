import { randomInt } from 'node:crypto';
import { readFile, realpath } from 'node:fs/promises';
import { exec } from '../../../src/lib/exec.ts';
import { nearestMount, parseMountinfo } from '../../../src/lib/linux/mountinfo.ts';
import { commandProblem } from '../../local/files.ts';
import type { Quota } from './filesystems.ts';

const timeoutMs = 30_000;
/** A volume may have one file or directory for this many of its bytes. */
const bytesPerFile = 4_096;

/** Project ids have 32 bits; 0 stands for no project. */
const idBound = 2 ** 32;

/**
 * Finds the project quotas of the XFS that holds a directory; undefined where the filesystem limits no directories. A limited
 * directory, and all that is made in it, belongs to a project of its own (xfs_quota(8)): a write beyond the limit fails with
 * ENOSPC, and statfs in the directory shows the limit as its size.
 */
export async function findQuota(directory: string): Promise<Quota | undefined> {
  const mounts = parseMountinfo(await readFile('/proc/self/mountinfo', 'utf8'));
  const mount = nearestMount(mounts, await realpath(directory));
  const isLimiting = mount?.type === 'xfs' && mount.superOptions.includes('prjquota');
  if (!isLimiting) return undefined;
  const ask = (command: string) => run('xfs_quota', ['-x', '-c', command, mount.path]);
  // Empty files take no blocks of a project, but they take space of the filesystem.
  const limitProject = (id: number, bytes: number) =>
    ask(`limit -p bhard=${bytes / 1024}k ihard=${Math.ceil(bytes / bytesPerFile)} ${id}`);
  return {
    async limit(path, bytes, { isNew }) {
      const known = await projectOf(path);
      if (known === 0 && !isNew) return;
      const id = known === 0 ? chooseId(await ask('report -p -n -N')) : known;
      await run('xfs_io', ['-r', '-c', `chproj ${id}`, '-c', 'chattr +P', '--', path]);
      await limitProject(id, bytes);
    },
    async releaseOf(path) {
      const id = await projectOf(path);
      return async () => id !== 0 && limitProject(id, 0);
    },
  };
}

/** Chooses an id that the report of all projects does not have. Other programs may use ids of the filesystem, too. */
function chooseId(report: string): number {
  const used = new Set(Array.from(report.matchAll(/^#(\d+)/gm), ([, id]) => Number(id)));
  let id: number;
  do id = randomInt(1, idBound - 1);
  while (used.has(id));
  return id;
}

async function projectOf(path: string): Promise<number> {
  const output = await run('xfs_io', ['-r', '-c', 'lsproj', '--', path]);
  return Number(/projid = (\d+)/.exec(output)?.[1] ?? 0);
}

/** Runs a command and returns its output. These tools report some failures only in words, with status 0. */
async function run(command: string, args: readonly string[]): Promise<string> {
  const result = await exec(command, args, { timeoutMs });
  if (result.status !== 0 || result.stderr !== '')
    throw commandProblem(command, 'limit the size of a volume', result);
  return result.stdout;
}
