import type { TestContext } from 'node:test';
import { signInto } from '../../../../examples/cinder/keystone.ts';
import { adapter } from '../../../cinder/cinder.ts';
import { startVendor, type RunningVendor } from '../../../fakes/storages/reference.ts';
import type { StorageWay } from '../../../machine/gateway/mutations.ts';
import { startProxy } from './proxy.ts';

export type Environment = Readonly<Record<string, string>>;
/** The server of examples/cinder, and its way to Cinder. */
export type Chain = { readonly server: RunningVendor; readonly way: StorageWay };

/** Starts the server of examples/cinder with a way to Cinder that can be interrupted. */
export async function startChain(t: TestContext, env: Environment): Promise<Chain> {
  const way: StorageWay = { interrupt: async () => {} };
  const { endpoint } = await signInto(env).session();
  const OS_VOLUME_ENDPOINT = await startProxy(t, endpoint, way);
  const server = await startVendor(t, { command: adapter, env: { ...env, OS_VOLUME_ENDPOINT } });
  return { server, way };
}

/** Ends the server at once, and starts it again. */
export async function restartServer({ server }: Chain): Promise<void> {
  await server.kill();
  await server.start();
}
