import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { containersOf, groupOf, memoryHierarchy, type Part } from '../installation/containers.ts';
import type { Served } from '../installation/installation.ts';

/** What a container's control group counts, in MB: without what is only cached now, and with it at its peak. */
export type Memory = { readonly node: string; readonly inUse: number; readonly peak: number };

/** The memory of a container of the release, on every node that has it. */
export async function memoryOf(served: Served, part: Part): Promise<readonly Memory[]> {
  const containers = await containersOf(served, part);
  return Promise.all(containers.map(async container => readMemory(container.node, await groupOf(container))));
}

/** The files differ between the versions of control groups. */
function readMemory(node: string, group: string): Memory {
  const read = (file: string) => readFileSync(join(group, file), 'utf8');
  const [current, most] = existsSync(memoryHierarchy)
    ? ['memory.usage_in_bytes', 'memory.max_usage_in_bytes']
    : ['memory.current', 'memory.peak'];
  const cached = /^(?:total_)?inactive_file (\d+)$/m.exec(read('memory.stat'))?.[1];
  const inUse = megabytes(Number(read(current)) - Number(cached));
  return { node, inUse, peak: megabytes(Number(read(most))) };
}

const megabytes = (bytes: number) => Math.round(bytes / 1e6);
