import { accessSync, constants, existsSync, readFileSync, readdirSync } from 'node:fs';
import { canonicalHost } from '../../../src/api/attachments/addresses.ts';
import { unavailableProblem } from '../../../src/api/problem.ts';
import { pause, poll } from '../../../src/lib/concurrency.ts';
import { exec } from '../../../src/lib/exec.ts';
import {
  isAtOrBelow,
  nearestMount,
  parseMountinfo,
  topMount,
  type Mount,
} from '../../../src/lib/linux/mountinfo.ts';
import { codeOf } from '../../local/files.ts';
import { exportsDirectory } from './records.ts';
import { openConfigTree } from '../../local/kernel/configfs.ts';

/** The kernel's files of its NFS server (nfsd(7)). */
const nfsd = '/proc/fs/nfsd';
/** The time for requests in progress to end, and between two looks, in milliseconds. */
const [endingMs, lookMs] = [20_000, 5];
/** The time for rpc.mountd to finish an answer that it began before the change, in milliseconds. */
const answerMs = 100;

const tree = openConfigTree();

/** Lists the missing prerequisites of this machine for exports of directories below `root`, one line each. */
export async function findServerFaults(root: string): Promise<readonly string[]> {
  if (process.getuid?.() !== 0) return ['the gateway does not run as root; only root can export directories'];
  const { status, stdout } = await exec('exportfs', ['-s'], { timeoutMs: endingMs });
  if (status === undefined) return ['"exportfs" is not installed; install nfs-kernel-server'];
  if (countThreads() === 0) return ['the NFS server of this machine does not run; start nfs-server'];
  const threads = findThreads();
  if (threads.length < countThreads())
    return ['the threads of the NFS server are not visible to the gateway; run it outside of a container'];
  const wider = parseListing(stdout).filter(({ path, fsid }) => fsid === '0' || isAtOrBelow(root, path));
  return [
    ...faultOf(
      () => threads.map(isWorking),
      'the gateway may not see what the threads of the NFS server do; give it CAP_SYS_PTRACE and CAP_SYS_ADMIN',
    ),
    ...faultOf(
      () => accessSync(existsSync(exportsDirectory) ? exportsDirectory : '/etc', constants.W_OK),
      `"${exportsDirectory}" cannot be written; make it, and let the gateway write there`,
    ),
    ...wider.map(
      ({ path, client }) =>
        `"${path}" is exported to ${client}, who could use all volumes in "${root}" that way; remove this export`,
    ),
  ];
}

function faultOf(look: () => unknown, fault: string): readonly string[] {
  try {
    look();
    return [];
  } catch {
    return [fault];
  }
}

/** Parses a list of `exportfs -s`. */
export function parseListing(listing: string) {
  return listing.split('\n').flatMap(line => {
    const [, path, client, options = ''] = /^(\/\S*)\s+(\S+?)\((.*)\)$/.exec(line) ?? [];
    const fsid = /(?:^|,)fsid=([^,]+)/.exec(options)?.[1];
    return path !== undefined && client !== undefined ? [{ path, client, ...(fsid && { fsid }) }] : [];
  });
}

/** A directory and the addresses of the clients that it was exported to. */
type Shut = { readonly path: string; readonly clients: readonly string[] };

/**
 * Returns once no request is left that the server admitted before a change of its exports. `flush` makes the kernel
 * forget its answers of rpc.mountd. UNAVAILABLE while a request lasts.
 */
export async function endRequests(shut: Shut, flush: () => Promise<unknown>): Promise<void> {
  await flush();
  await pause(answerMs);
  await flush();
  await endThreads();
  // A request may have got an answer that rpc.mountd began before the change and ended after the flush.
  if (!isAdmitted(shut)) return;
  await flush();
  await endThreads();
  if (isAdmitted(shut))
    throw unavailableProblem(`the NFS server still admits ${shut.clients.join(', ')} to "${shut.path}"`);
}

/** Returns once no asynchronous copy of files runs in the server: it looks at no export. UNAVAILABLE while one lasts. */
export async function endCopies(): Promise<void> {
  const ended = await poll(() => findThreads('copy thread').length === 0 || undefined, {
    everyMs: lookMs,
    timeoutMs: endingMs,
  });
  if (!ended)
    throw unavailableProblem('the NFS server still copies files for a node, perhaps into this volume');
}

/** True if the kernel has an answer that lets one of the clients use the path. */
function isAdmitted({ path, clients }: Shut): boolean {
  const answers = (tree.read('/proc/net/rpc/nfsd.export/content') ?? '').split('\n');
  return answers.some(
    line =>
      !line.startsWith('#') &&
      clients.some(client => [client, `$${client}`].some(domain => line.startsWith(`${path}\t${domain}(`))),
  );
}

/** Returns once each thread of the server has been seen to wait for a request. */
async function endThreads(): Promise<void> {
  let working = findThreads();
  if (working.length < countThreads())
    throw unavailableProblem('the threads of the NFS server are not visible, so no export can be closed');
  const ended = await poll(
    () => {
      working = working.filter(isWorking);
      return working.length === 0 || undefined;
    },
    { everyMs: lookMs, timeoutMs: endingMs },
  );
  if (!ended)
    throw unavailableProblem(
      `the NFS server has worked on requests without a pause for ${endingMs / 1_000} s`,
    );
}

/** Frees the locks and the open files that clients with these addresses have in the filesystem of the path. */
export async function expireClients(addresses: readonly string[], path: string): Promise<void> {
  const mount = nearestMount(readMounts(), path);
  const [major = 0, minor = 0] = mount?.device.split(':').map(Number) ?? [];
  const device = [major, minor].map(number => number.toString(16).padStart(2, '0')).join(':');
  for (const id of tree.list(`${nfsd}/clients`)) {
    const home = `${nfsd}/clients/${id}`;
    const [, host = ''] = /^address: "(.+):\d+"$/m.exec(tree.read(`${home}/info`) ?? '') ?? [];
    if (!addresses.some(address => canonicalHost(address) === canonicalHost(host))) continue;
    if (!tree.read(`${home}/states`)?.includes(`superblock: "${device}:`)) continue;
    await tree.writeSlowly(`${home}/ctl`, 'expire\n').catch((error: unknown) => {
      // The client has gone by itself.
      if (!['ENOENT', 'ENXIO'].includes(codeOf(error))) throw error;
    });
  }
}

/** True for a directory at which a whole filesystem is mounted. */
export function isFilesystem(path: string): boolean {
  return topMount(readMounts(), path)?.root === '/';
}

function readMounts(): readonly Mount[] {
  return parseMountinfo(readFileSync('/proc/self/mountinfo', 'utf8'));
}

function countThreads(): number {
  return Number(tree.read(`${nfsd}/threads`) ?? 0);
}

/** Lists the process ids of the server's threads with a name, which are children of the kernel's own. */
function findThreads(name = 'nfsd'): readonly string[] {
  const pattern = new RegExp(`^\\d+ \\(${name}\\) \\S 2 `);
  return readdirSync('/proc').filter(id => /^\d+$/.test(id) && pattern.test(statOf(id)));
}

/** True unless the thread is seen to wait for a request. The stack of a thread that runs is unknown. */
function isWorking(id: string): boolean {
  const [, state = 'gone'] = /^\d+ \(nfsd\) (\S)/.exec(statOf(id)) ?? [];
  if (state === 'gone') return false;
  const stack = state === 'R' ? '' : (tree.read(`/proc/${id}/stack`) ?? '');
  return !stack.includes('svc_recv') || /\bsvc_(process|handle)/.test(stack);
}

function statOf(id: string): string {
  try {
    return readFileSync(`/proc/${id}/stat`, 'latin1');
  } catch {
    return '';
  }
}
