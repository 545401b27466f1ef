import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { capture } from '../cluster/capture.ts';
import type { Served } from '../installation/installation.ts';
import { releaseNamespace } from '../installation/release.ts';

/** What a container's control group counts, in MB: without what is only cached now, and with it at its peak. */
export type Memory = { readonly node: string; readonly inUse: number; readonly peak: number };

/** The memory of a container of the release, on every node that has it. */
export async function memoryOf(
  { cluster }: Served,
  component: string,
  container: string,
): Promise<readonly Memory[]> {
  const selector = `app.kubernetes.io/component=${component}`;
  const id = `{.status.containerStatuses[?(@.name=="${container}")].containerID}`;
  const path = `{range .items[*]}{.spec.nodeName}{" "}${id}{"\\n"}{end}`;
  const pods = ['get', 'pods', '--namespace', releaseNamespace, '--selector', selector];
  const found = await cluster.kubectl(...pods, '--output', `jsonpath=${path}`);
  return Promise.all(found.split('\n').map(line => memoryOfContainer(line)));
}

/** The files differ between the versions of control groups. */
async function memoryOfContainer(line: string): Promise<Memory> {
  const [node = '', url = ''] = line.split(' ');
  const id = url.replace('containerd://', '');
  const memory = '/sys/fs/cgroup/memory';
  const isFirst = existsSync(memory);
  const group = await capture(['find', isFirst ? memory : '/sys/fs/cgroup', '-name', id]);
  const read = (file: string) => readFileSync(join(group, file), 'utf8');
  const [current, most] = isFirst
    ? ['memory.usage_in_bytes', 'memory.max_usage_in_bytes']
    : ['memory.current', 'memory.peak'];
  const cached = /^(?:total_)?inactive_file (\d+)$/m.exec(read('memory.stat'))?.[1];
  const inUse = megabytes(Number(read(current)) - Number(cached));
  return { node, inUse, peak: megabytes(Number(read(most))) };
}

const megabytes = (bytes: number) => Math.round(bytes / 1e6);
