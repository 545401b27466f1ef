import { poll } from '../../../src/lib/concurrency.ts';
import { capture } from '../cluster/capture.ts';
import type { Cluster } from '../cluster/cluster.ts';

/** The number of kubectl that create objects at a time. Each waits for the answer to one object before the next. */
const sideBySide = 8;

/** Creates many objects, by default in the namespace `default`. */
export async function createMany(
  cluster: Cluster,
  items: readonly object[],
  namespace = 'default',
): Promise<void> {
  const create = ['--namespace', namespace, 'create', '--validate=false', '--filename', '-'];
  const shares = Map.groupBy(items.entries(), ([index]) => index % sideBySide).values();
  await Promise.all(
    shares.map(share => {
      const list = { apiVersion: 'v1', kind: 'List', items: share.map(([, item]) => item) };
      return capture(cluster.commandLine(create), JSON.stringify(list));
    }),
  );
}

/** Deletes all objects of a path of the API by one request. */
export async function deleteMany(cluster: Cluster, path: string): Promise<void> {
  await cluster.kubectl('delete', '--raw', path);
}

/**
 * Resolves once the count is the expected one. kubectl's own `wait` and `delete` ask about one object after another,
 * which takes minutes for hundreds of objects on a busy machine.
 */
export async function untilCounted(
  what: string,
  expected: number,
  count: () => Promise<number> | number,
): Promise<void> {
  let last = 0;
  const isReached = async () => {
    last = await count();
    return last === expected || undefined;
  };
  if (await poll(isReached, { everyMs: 1_000, timeoutMs: 15 * 60_000 })) return;
  throw new Error(`waited in vain for ${expected} ${what}; counted ${last}`);
}
