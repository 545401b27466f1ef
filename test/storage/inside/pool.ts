import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { Backend } from '../../../gateway/backend.ts';
import { backends } from '../../../gateway/backends/index.ts';
import { openPlugin } from '../../harness/gateway/open-plugin.ts';
import { rest, settings } from './cluster.ts';

export function openBackend(): Promise<Backend> {
  return openPlugin(backends.ceph, settings);
}

/** The backend on the pool, opened once. */
export const opened: Promise<Backend> = openBackend();

/** Opens the backend, and at the end of the test deletes its volumes and fails if anything is left. */
export async function openCeph(t: Pick<TestContext, 'after'>): Promise<Backend> {
  const backend = await opened;
  t.after(() => clear(backend));
  return backend;
}

/** Deletes all volumes and snapshots; fails if images or notes are left. */
export async function clear({ list, delete: remove, snapshots }: Backend): Promise<void> {
  if (rest().length === 0) return;
  for (const [all, one] of [
    [list, remove],
    [snapshots?.list, snapshots?.delete],
  ] as const)
    for (const id of (await Array.fromAsync(all?.() ?? [])) as readonly string[]) await one?.({ id });
  assert.deepEqual(rest(), []);
}
