import { join } from 'node:path';
import { test } from 'node:test';
import { registerNodes } from '../../../src/dev/dev.ts';
import { assertSane, endpointsOf } from '../../conformance/sanity.ts';
import { makeTemporaryDirectory, removeTemporaryDirectory } from '../../harness/machine.ts';
import { startTrio } from '../../harness/trio.ts';
import { joinNetwork } from '../fleet/peer.ts';

// The kernel gives these to the first program: they are none of its own parameters.
const { CSI_SANITY: tool = '', GATEWAY_PORT: port = '', GATEWAY_DIRECTORY: dir = '' } = process.env;

test('csi-sanity finds no failure with images of Ceph', async t => {
  joinNetwork();
  const base = makeTemporaryDirectory();
  t.after(() => removeTemporaryDirectory(base));
  // What listens in the network that the machine is given is reached by the address of that network's gateway.
  const gateway = `http://10.0.2.2:${port}`;
  // The gateway's directory, with the keys of its cluster, is seen here; what is written stays here.
  const trio = await startTrio(t, {
    dir,
    storage: async () => gateway,
    nodeNames: ['sanity-node'],
    advertised: ['group-snapshots', 'changed-blocks'],
  });
  const nodeIds = trio.nodes.map(({ nodeId }) => nodeId);
  await registerNodes(gateway, join(dir, 'controller.jwk.json'), { nodeIds });
  assertSane(t, { tools: join(tool, '..'), base, ...endpointsOf(trio), accessType: 'mount' });
});
