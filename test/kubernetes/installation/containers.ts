import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { poll } from '../../../src/lib/concurrency.ts';
import { capture } from '../cluster/capture.ts';
import { signalTo } from '../cluster/program.ts';
import type { InstalledCluster } from './installation.ts';
import { releaseNamespace } from './release.ts';

/** A cluster with containers of the chart. */
type HostCluster = Pick<InstalledCluster, 'cluster'>;

/** A running container of the release: its node, its pod, and its id in containerd. */
export type Container = { readonly node: string; readonly pod: string; readonly id: string };

/**
 * A kind of container: a component of the chart, such as `node`, and a container of its pods, such as `agent`; without a
 * namespace in the cluster's own release.
 */
export type Part = { readonly component: string; readonly container: string; readonly namespace?: string };

export const agent: Part = { component: 'node', container: 'agent' };
export const controller: Part = { component: 'controller', container: 'controller' };

/** The directory of the memory controller: control groups of version 1 have a hierarchy for each controller. */
export const memoryHierarchy = '/sys/fs/cgroup/memory';
const isFirstVersion = existsSync(memoryHierarchy);
const hierarchy = isFirstVersion ? memoryHierarchy : '/sys/fs/cgroup';

/** Lists the ready containers of a part, on all nodes. */
export async function containersOf(
  { cluster }: HostCluster,
  { component, container, namespace = releaseNamespace }: Part,
): Promise<readonly Container[]> {
  const selector = `app.kubernetes.io/component=${component}`;
  const status = `.status.containerStatuses[?(@.name=="${container}")]`;
  const columns = ['.spec.nodeName', '.metadata.name', `${status}.ready`, `${status}.containerID`];
  const row = columns.map(column => `{${column}}`).join('{" "}');
  const pods = ['get', 'pods', '--namespace', namespace, '--selector', selector];
  const found = await cluster.kubectl(...pods, '--output', `jsonpath={range .items[*]}${row}{"\\n"}{end}`);
  const rows = found.split('\n').map(line => line.split(' '));
  return rows.flatMap(([node = '', pod = '', isReady, url = '']) =>
    isReady === 'true' ? [{ node, pod, id: url.replace('containerd://', '') }] : [],
  );
}

/** Finds the directory of the control group that counts a container's memory. */
export function groupOf({ id }: Container): Promise<string> {
  return capture(['find', hierarchy, '-name', id]);
}

/** Lists the ids of a container's processes outside its namespace. */
export async function processesOf(container: Container): Promise<readonly number[]> {
  return processesIn(await groupOf(container));
}

/** Lists the processes of a control group, without the groups below it. */
export function processesIn(group: string): readonly number[] {
  return readFileSync(join(group, 'cgroup.procs'), 'utf8').split('\n').filter(Boolean).map(Number);
}

/** Kills a part's container on a node, as the kernel does when memory runs out. */
export async function kill(served: HostCluster, part: Part, node: string): Promise<void> {
  const found = (await containersOf(served, part)).find(container => container.node === node);
  if (found === undefined) throw new Error(`no ${part.container} is ready on ${node}`);
  for (const pid of await processesOf(found)) signalTo(pid, 'SIGKILL');
}

/** Kills a part's container and resolves once its successor is ready. */
export async function killAndWait(served: HostCluster, part: Part, node: string): Promise<void> {
  const before = new Set((await containersOf(served, part)).map(({ id }) => id));
  await kill(served, part, node);
  const isThere = async () => {
    const found = await containersOf(served, part);
    return found.some(container => container.node === node && !before.has(container.id)) || undefined;
  };
  if (!(await poll(isThere, { everyMs: 500, timeoutMs: 180_000 })))
    throw new Error(`waited in vain for another ${part.container} on ${node}`);
}
