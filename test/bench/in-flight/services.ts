import { once } from 'node:events';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Capability } from '../../../src/api/storage.ts';
import type { Backend } from '../../../gateway/backend.ts';
import { openMemory } from '../../../gateway/backends/memory.ts';
import { createOperations } from '../../../gateway/operations/operation.ts';
import { createPools } from '../../../gateway/pools/pools.ts';
import { createServices } from '../../../gateway/services.ts';
import { openSqlite } from '../../../gateway/stores/sqlite.ts';
import { migrate } from '../../../gateway/tables/schema.ts';
import { createSlices } from '../../../gateway/scheduling/slices.ts';
import { pause } from '../../../src/lib/concurrency.ts';

// Runs a gateway's services with a store and a slow storage: a message names the work on all volumes at once, and the
// answer its cost.

/**
 * The cost of the work: the 99th percentile of the event-loop delay, and the resident memory at its peak and before.
 */
export type Cost = { readonly delayMs: number; readonly peakMB: number; readonly beforeMB: number };

const [, , store = '', countText = '0'] = process.argv;
const clusters = Array.from({ length: 20 }, (_, index) => ({
  name: `c${index}`,
  acceptAnyNode: true,
  pools: undefined,
  quota: undefined,
}));
const perCluster = Number(countText) / clusters.length;
const capability: Capability = { accessType: 'mount', accessMode: 'SINGLE_NODE_WRITER' };
const actMs = 20;
const resolutionMs = 5;

const slow =
  <A extends readonly unknown[], R>(act: (...args: A) => Promise<R>) =>
  async (...args: A): Promise<R> => {
    await pause(actMs);
    return act(...args);
  };

const engine = openSqlite(store);
await migrate(engine);
const memory = await openMemory({ capacity: 2 ** 50 });
const backend: Backend = { ...memory, attach: slow(memory.attach), detach: slow(memory.detach) };
const pools = createPools(() => [{ name: 'main', backend }]);
const operations = createOperations({ engine });
const services = createServices({
  engine,
  pools,
  operations,
  slices: createSlices(),
  clusters: () => ({}),
  keepDeletedMs: 0,
});
const keys = clusters.flatMap(cluster =>
  Array.from({ length: perCluster }, (_, index) => ({
    cluster,
    volumeId: `${cluster.name}.v${index}`,
    nodeId: `n${index % clusters.length}`,
  })),
);
for (const { cluster, volumeId } of keys)
  await services.volumes.create(cluster, volumeId, {
    name: volumeId,
    requiredBytes: 2 ** 20,
    capabilities: [capability],
  });

const works = {
  attach: (key: (typeof keys)[number]) => services.attachments.attach(key, { capability, readonly: false }),
  detach: (key: (typeof keys)[number]) => services.attachments.detach(key),
} as const;
const resident = (): number => process.memoryUsage.rss() / 2 ** 20;

async function measure(work: (key: (typeof keys)[number]) => Promise<unknown>): Promise<Cost> {
  const beforeMB = resident();
  let peakMB = beforeMB;
  const delay = monitorEventLoopDelay({ resolution: resolutionMs });
  const watching = setInterval(() => (peakMB = Math.max(peakMB, resident())), 50);
  delay.enable();
  await Promise.all(keys.map(work));
  delay.disable();
  clearInterval(watching);
  return { delayMs: delay.percentile(99) / 1e6 - resolutionMs, peakMB, beforeMB };
}

process.send?.('ready');
for (const what of ['attach', 'detach'] as const) {
  await once(process, 'message');
  process.send?.(await measure(works[what]));
}
await engine.close();
process.disconnect?.();
