import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { createIdentity } from '../../../src/csi/identity.ts';
import { loadNodeCsi } from '../../../src/csi/protocol.ts';
import { serve } from '../../../src/csi/server.ts';
import { silentLog as log } from '../../../src/lib/log.ts';
import { openService, type Bench } from '../../harness/node/bench.ts';
import { temporaryDirectory } from '../../harness/temporary.ts';

/** Serves Identity and Node on a bench until the test ends; `request` fits every call for volume `c.v`. */
export async function serveNodeAgent(t: TestContext, bench: Bench) {
  const socketPath = join(temporaryDirectory(t), 'csi.sock');
  const { node, request } = await openService(bench);
  const { Identity, Node } = loadNodeCsi();
  const services = [
    { definition: Identity, handlers: createIdentity({ driverName: 'csi.test', isReady: () => true }) },
    { definition: Node, handlers: node },
  ];
  const server = await serve({ socketPath, services, log });
  t.after(() => server.close());
  return { socketPath, request };
}
