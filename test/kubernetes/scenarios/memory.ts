import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { containersOf, groupOf, memoryHierarchy, type Part } from '../installation/containers.ts';
import type { InstalledCluster } from '../installation/installation.ts';

/** The memory of a container's control group, in MB: in use without reclaimable caches, and the peak with caches. */
export type Memory = { readonly node: string; readonly inUse: number; readonly peak: number };

/** Reads the memory of a container of the release, on every node that has it. */
export async function memoryOf(served: InstalledCluster, part: Part): Promise<readonly Memory[]> {
  const containers = await containersOf(served, part);
  return Promise.all(containers.map(async container => readMemory(container.node, await groupOf(container))));
}

/** Reads the counters; their files differ between the versions of control groups. */
function readMemory(node: string, group: string): Memory {
  const read = (file: string) => readFileSync(join(group, file), 'utf8');
  const [current, max] = existsSync(memoryHierarchy)
    ? ['memory.usage_in_bytes', 'memory.max_usage_in_bytes']
    : ['memory.current', 'memory.peak'];
  const cached = /^(?:total_)?inactive_file (\d+)$/m.exec(read('memory.stat'))?.[1];
  const inUse = megabytes(Number(read(current)) - Number(cached));
  return { node, inUse, peak: megabytes(Number(read(max))) };
}

const megabytes = (bytes: number) => Math.round(bytes / 1e6);
