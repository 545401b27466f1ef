import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { Backend } from '../../../gateway/backend.ts';
import { backends } from '../../../gateway/backends/index.ts';
import { openPlugin } from '../../harness/open-plugin.ts';
import { rest, settings } from './cluster.ts';

/** Opens the backend on the pool. */
export function openBackend(): Promise<Backend> {
  return openPlugin(backends.ceph, settings);
}

/** The backend on the pool, opened once. */
export const opened: Promise<Backend> = openBackend();

/** The backend; what a test leaves is deleted, and then nothing of it is there. */
export async function openCeph(t: Pick<TestContext, 'after'>): Promise<Backend> {
  const backend = await opened;
  t.after(() => clear(backend));
  return backend;
}

/** Deletes all volumes and snapshots; then neither images nor notes are left. */
export async function clear({ list, delete: remove, snapshots }: Backend): Promise<void> {
  if (rest().length === 0) return;
  for (const [all, one] of [
    [list, remove],
    [snapshots?.list, snapshots?.delete],
  ] as const)
    for (const id of (await Array.fromAsync(all?.() ?? [])) as readonly string[]) await one?.({ id });
  assert.deepEqual(rest(), []);
}
