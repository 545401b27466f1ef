import { readFileSync, readdirSync } from 'node:fs';
import { canonicalHost } from '../../../src/api/attachments/addresses.ts';
import { unavailableProblem } from '../../../src/api/problem.ts';
import { pause, poll } from '../../../src/lib/concurrency.ts';
import { exec } from '../../../src/lib/exec.ts';
import { nearestMount, parseMountinfo } from '../../../src/lib/linux/mountinfo.ts';
import { codeOf } from '../../local/files.ts';
import { openConfigTree } from '../../local/kernel/configfs.ts';

/** The kernel's files of its NFS server (nfsd(7)). */
const nfsd = '/proc/fs/nfsd';
/** The time for requests in progress to end, and between two looks, in milliseconds. */
const [endingMs, lookMs] = [20_000, 5];
/** The time for rpc.mountd to finish an answer that it began before the change, in milliseconds. */
const answerMs = 100;

const tree = openConfigTree();

/** Lists the missing prerequisites of this machine, one line each. */
export async function findServerFaults(): Promise<readonly string[]> {
  if (process.getuid?.() !== 0) return ['the gateway does not run as root; only root can export directories'];
  const { status } = await exec('exportfs', ['-s'], { timeoutMs: endingMs, mute: true });
  if (status === undefined) return ['"exportfs" is not installed; install nfs-kernel-server'];
  if (countThreads() === 0) return ['the NFS server of this machine does not run; start nfs-server'];
  const isHidden = findThreads().length < countThreads();
  return isHidden
    ? ['the threads of the NFS server are not visible to the gateway; run it outside of a container']
    : [];
}

/**
 * Returns once no request is left that the server admitted before a change of its exports. `flush` makes the kernel
 * forget its answers of rpc.mountd. UNAVAILABLE while a request lasts.
 */
export async function endRequests(flush: () => Promise<unknown>): Promise<void> {
  await flush();
  await pause(answerMs);
  await flush();
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
  const mount = nearestMount(parseMountinfo(readFileSync('/proc/self/mountinfo', 'utf8')), path);
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

function countThreads(): number {
  return Number(tree.read(`${nfsd}/threads`) ?? 0);
}

/** Lists the process ids of the server's threads, which are children of the kernel's own. */
function findThreads(): readonly string[] {
  return readdirSync('/proc').filter(name => /^\d+$/.test(name) && /^\d+ \(nfsd\) \S 2 /.test(statOf(name)));
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
