import type { Call } from '../../src/api/http.ts';
import { createClient, type StorageClient } from '../../src/api/client.ts';
import { hasFeature } from '../../src/api/storage.ts';
import type { NodeSpec } from '../../src/api/node.ts';
import { createTokenSource } from '../../src/controller/tokens.ts';
import { devCluster } from '../../src/dev/enrollment.ts';

/** A gateway, and the key of the cluster that asks it. */
export type Asking = { readonly gateway: string; readonly keyFile: string };

/** Tells the gateway of a node, as its cluster does. */
export async function registerNode(asking: Asking, nodeId: string, spec: NodeSpec = {}): Promise<void> {
  await withClient(asking, (client, call) => client.putNode({ nodeId, body: spec }, call));
}

/** What a plugin advertises that agrees with a storage without places. */
export async function advertisedFor(asking: Asking): Promise<string> {
  const storage = await withClient(asking, (client, call) => client.getCapabilities({}, call));
  const words = [
    ...(hasFeature(storage, 'groups') ? ['group-snapshots'] : []),
    ...(hasFeature(storage, 'changes') ? ['changed-blocks'] : []),
  ];
  return words.join(',') || 'none';
}

async function withClient<T>(
  { gateway, keyFile }: Asking,
  ask: (client: StorageClient, call: Call) => Promise<T>,
): Promise<T> {
  const token = createTokenSource({ keyFile, issuer: devCluster, audience: 'fairlead', lifetimeMs: 60_000 });
  const client = createClient({ url: gateway, token, connections: 1 });
  try {
    return await ask(client, { deadlineMs: Date.now() + 10_000 });
  } finally {
    await client.close();
  }
}
