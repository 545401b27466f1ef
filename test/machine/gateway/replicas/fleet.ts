import { writeFileSync } from 'node:fs';
import { signerOf } from '../../../harness/gateway/signers.ts';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { createClient, type StorageClient } from '../../../../src/api/client.ts';
import { runGateway, type RunningGateway } from '../../../harness/gateway/program.ts';
import { prepareDirectory } from '../process.ts';
import { startBalancer } from './balancer.ts';
import type { CountedVendor } from './vendor.ts';
import { filesBelow } from '../../../fakes/storages/reference.ts';

/** Gateways on one store behind a balancer. */
export type Fleet = {
  /** Opens a client of the balancer with connections of its own; it ends with the test. */
  connect(): { readonly client: StorageClient };
  readonly members: readonly (RunningGateway | undefined)[];
  kill(member: number): Promise<void>;
  start(member: number): Promise<void>;
};

/** Starts this number of gateways, `fairlead gateway` itself, over the vendor; they end with the test. */
export async function startFleet(t: TestContext, count: number, vendor: CountedVendor): Promise<Fleet> {
  const directory = await prepareVendorPool(t, vendor, { tries: 2, breakFor: '200ms' });
  const members: (RunningGateway | undefined)[] = [];
  const alive = () => members.filter(member => member !== undefined);
  const balancer = await startBalancer(t, () => alive().map(addressOf));

  async function start(member: number): Promise<void> {
    members[member] = await runGateway(t, { directory, process: {} });
  }

  // The first gateway makes the store's tables alone.
  for (let member = 0; member < count; member++) await start(member);
  return {
    connect: () => ({ client: connectTo(t, balancer.port) }),
    members,
    async kill(member) {
      const killed = members[member];
      if (!killed) return;
      // The balancer notices it by refused connections.
      await killed.end('SIGKILL');
      await killed.client.close();
      members[member] = undefined;
    },
    start,
  };
}

/** Makes a directory with the configuration of gateways whose only pool is the vendor. `more` adds settings of the pool. */
export async function prepareVendorPool(t: TestContext, vendor: CountedVendor, more = {}): Promise<string> {
  const { url, token, directory: storage } = vendor;
  const acme = { backend: 'rest', url, token: 'token', ...more, ...filesBelow(storage) };
  const directory = await prepareDirectory(t, { acme });
  writeFileSync(join(directory, 'token'), token);
  return directory;
}

export function addressOf({ url }: RunningGateway) {
  return { host: '127.0.0.1', port: Number(new URL(url).port) };
}

/** Opens a client of cluster `a` for the balancer at this port; it ends with the test. */
export function connectTo(t: TestContext, port: number): StorageClient {
  const client = createClient({ url: `http://127.0.0.1:${port}`, token: signAsA });
  t.after(() => client.close());
  return client;
}

async function signAsA(): Promise<string> {
  return (await signerOf('a')).sign();
}
