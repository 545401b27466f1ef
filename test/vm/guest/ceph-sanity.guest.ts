import { join } from 'node:path';
import { test } from 'node:test';
import { registerNodes } from '../../../src/dev/dev.ts';
import { assertSane, endpointsOf } from '../../conformance/sanity.ts';
import { directoryOf } from '../../harness/machine.ts';
import { startTrio } from '../../harness/trio.ts';
import { joinNetwork } from '../fleet/peer.ts';

// The kernel passes these to the first program, because they are no kernel parameters.
const { CSI_SANITY: tool = '', GATEWAY_PORT: port = '', GATEWAY_DIRECTORY: dir = '' } = process.env;

test('csi-sanity finds no failure with images of Ceph', async t => {
  joinNetwork();
  const base = directoryOf(t);
  // The address of the network's gateway leads to servers in the network that the machine is given.
  const gateway = `http://10.0.2.2:${port}`;
  // The machine sees the gateway's directory, with the keys of its cluster; its own writes stay in the machine.
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
