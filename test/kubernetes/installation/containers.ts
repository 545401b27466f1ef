import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { poll } from '../../../src/lib/concurrency.ts';
import { capture } from '../cluster/capture.ts';
import { signalTo } from '../cluster/program.ts';
import type { Served } from './installation.ts';
import { releaseNamespace } from './release.ts';

/** A container of the release that runs: the node and the pod that it is of, and containerd's name for it. */
export type Container = { readonly node: string; readonly pod: string; readonly id: string };

/** Which containers: a component of the chart, such as `node`, and a container of its pods, such as `agent`. */
export type Part = { readonly component: string; readonly container: string };

export const agent: Part = { component: 'node', container: 'agent' };
export const controller: Part = { component: 'controller', container: 'controller' };

/** Control groups of the first version have one hierarchy for each controller. */
export const memoryHierarchy = '/sys/fs/cgroup/memory';
const isFirstVersion = existsSync(memoryHierarchy);
const hierarchy = isFirstVersion ? memoryHierarchy : '/sys/fs/cgroup';

/** The containers of a part that are ready, on all nodes. */
export async function containersOf(
  { cluster }: Served,
  { component, container }: Part,
): Promise<readonly Container[]> {
  const selector = `app.kubernetes.io/component=${component}`;
  const status = `.status.containerStatuses[?(@.name=="${container}")]`;
  const columns = ['.spec.nodeName', '.metadata.name', `${status}.ready`, `${status}.containerID`];
  const row = columns.map(column => `{${column}}`).join('{" "}');
  const pods = ['get', 'pods', '--namespace', releaseNamespace, '--selector', selector];
  const found = await cluster.kubectl(...pods, '--output', `jsonpath={range .items[*]}${row}{"\\n"}{end}`);
  const rows = found.split('\n').map(line => line.split(' '));
  return rows.flatMap(([node = '', pod = '', isReady, url = '']) =>
    isReady === 'true' ? [{ node, pod, id: url.replace('containerd://', '') }] : [],
  );
}

/** The directory of a container's control group that counts its memory. */
export function groupOf({ id }: Container): Promise<string> {
  return capture(['find', hierarchy, '-name', id]);
}

/** The processes of a container, as they are numbered here. */
export async function processesOf(container: Container): Promise<readonly number[]> {
  return processesIn(await groupOf(container));
}

/** The processes of a control group alone. */
export function processesIn(group: string): readonly number[] {
  return readFileSync(join(group, 'cgroup.procs'), 'utf8').split('\n').filter(Boolean).map(Number);
}

/** Kills a container of a part on a node, as the kernel does that is out of memory. */
export async function kill(served: Served, part: Part, node: string): Promise<void> {
  const found = (await containersOf(served, part)).find(container => container.node === node);
  if (found === undefined) throw new Error(`no ${part.container} is ready on ${node}`);
  for (const pid of await processesOf(found)) signalTo(pid, 'SIGKILL');
}

/** Kills it, and resolves once another that took its place is ready. */
export async function killAndWait(served: Served, part: Part, node: string): Promise<void> {
  const before = new Set((await containersOf(served, part)).map(({ id }) => id));
  await kill(served, part, node);
  const isThere = async () => {
    const found = await containersOf(served, part);
    return found.some(container => container.node === node && !before.has(container.id)) || undefined;
  };
  if (!(await poll(isThere, { everyMs: 500, timeoutMs: 180_000 })))
    throw new Error(`waited in vain for another ${part.container} on ${node}`);
}
