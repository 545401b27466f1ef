import { Problem } from '../../src/api/problem.ts';
import { isAtOrBelow } from '../../src/lib/linux/mountinfo.ts';
import type { Host } from '../host.ts';
import { namesWithFile, readBacking } from './sysfs.ts';

/** Maximum time of the search, in milliseconds, and maximum number of holders in a message. */
const searchMs = 3_000;
const maxNamed = 5;

/** The ways that a process can hold a file, by the name of the link in its directory of /proc. */
const holdingWays: Readonly<Record<string, string>> = {
  cwd: 'its working directory',
  root: 'its root directory',
  exe: 'its program',
  fd: 'an open file',
  map_files: 'a file in memory',
};

/**
 * Describes the holders of files at or below a path: visible processes, loop devices, and swap files. Undefined if none is
 * visible. Reads only the links in /proc and not their targets, which may hang.
 */
export async function findHolders(path: string, host: Host): Promise<string | undefined> {
  const holders = [...(await findLoops(path, host)), ...(await findProcesses(path, host))];
  if (holders.length === 0) return undefined;
  const more = holders.length > maxNamed ? ` and ${holders.length - maxNamed} more` : '';
  return `${holders.slice(0, maxNamed).join(', ')}${more}`;
}

/** Adds the holders of the path to a problem's message; returns other errors unchanged. */
export async function withHolders(failure: unknown, path: string, host: Host): Promise<unknown> {
  if (!(failure instanceof Problem)) return failure;
  const holders = await findHolders(path, host).catch(() => undefined);
  const seen =
    holders === undefined ? 'no process that the agent sees holds on to it' : `it is held by ${holders}`;
  return new Problem(failure.code, `${failure.detail}; ${seen}`, failure);
}

async function findProcesses(path: string, host: Host): Promise<readonly string[]> {
  const pattern = path.replaceAll(/[\\*?[\]]/g, String.raw`\$&`);
  const links = ['(', '-lname', pattern, '-o', '-lname', `${pattern}/*`, ')', '-printf', String.raw`%p\n`];
  const tasks = ['-path', '/proc/[0-9]*/task', '-prune', '-o'];
  const args = ['/proc', '-maxdepth', '3', ...tasks, '-path', '/proc/[0-9]*', ...links];
  const { stdout } = await host.run('find', args, { timeoutMs: searchMs });
  const found = new Map<string, Set<string>>();
  for (const [, pid = '', link = ''] of stdout.matchAll(/^\/proc\/(\d+)\/(\w+)/gm)) {
    const known = found.get(pid) ?? new Set();
    found.set(pid, known.add(holdingWays[link] ?? link));
  }
  return Promise.all(Array.from(found, ([pid, how]) => describeProcess(pid, how, host)));
}

async function describeProcess(pid: string, how: ReadonlySet<string>, host: Host): Promise<string> {
  const name = (await host.readText(`/proc/${pid}/comm`))?.trim() ?? '';
  return `process ${pid} (${JSON.stringify(name)}: ${[...how].join(', ')})`;
}

/** Lists the loop devices and swap files at or below a path, which the kernel itself has open. */
async function findLoops(path: string, host: Host): Promise<readonly string[]> {
  const loops: string[] = [];
  for (const name of await namesWithFile(host)) {
    const backing = await readBacking(`/sys/block/${name}`, host);
    if (backing !== undefined && isAtOrBelow(backing, path)) loops.push(`device "/dev/${name}"`);
  }
  const swaps = [...((await host.readText('/proc/swaps')) ?? '').matchAll(/^(\/\S+) /gm)];
  return [...loops, ...swaps.flatMap(([, file = '']) => (isAtOrBelow(file, path) ? [`swap "${file}"`] : []))];
}
