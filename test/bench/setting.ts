import { join } from 'node:path';
import { connectCsi, type CsiClient } from '../../src/csi/client.ts';
import { startDev, type Dev } from '../harness/dev.ts';
import { makeTemporaryDirectory, removeTemporaryDirectory } from '../harness/machine.ts';
import type { CleanupScope } from '../harness/temporary.ts';

/** `fairlead dev` with clients of its two sockets. */
export type DevSetting = { readonly dir: string; readonly dev: Dev; readonly csi: CsiClients };

/** A client of the controller's services, and one of the node agent's. */
type CsiClients = { readonly controller: CsiClient; readonly node: CsiClient };

/** Runs work with a scope that cleans up even if the work fails. */
export async function inScope<T>(work: (t: CleanupScope) => Promise<T>): Promise<T> {
  await using ending = new AsyncDisposableStack();
  return await work({ after: (end: () => void | Promise<void>) => void ending.defer(end) });
}

/** Runs work in a directory of its own, which is removed even if the work fails. */
export async function inDirectory<T>(work: (dir: string) => Promise<T>): Promise<T> {
  const dir = makeTemporaryDirectory();
  try {
    return await work(dir);
  } finally {
    removeTemporaryDirectory(dir);
  }
}

/**
 * Runs work with `fairlead dev` in this directory, with practically unlimited capacity; it ends even if the work fails.
 */
export async function withDev<T>(dir: string, work: (setting: DevSetting) => Promise<T>): Promise<T> {
  const dev = await startDev({ dir: join(dir, 'dev'), capacity: '4096Ti' });
  const csi = { controller: connectCsi(dev.controller), node: connectCsi(dev.node) };
  try {
    return await work({ dir, dev, csi });
  } finally {
    csi.controller.close();
    csi.node.close();
    await dev.end();
  }
}
