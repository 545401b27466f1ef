import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { mountsBelow } from '../../harness/machine.ts';
import { requestFor } from '../../harness/node.ts';
import { toExport } from '../../harness/node/shares.ts';
import { local, startGuestNode } from './agent.ts';
import { startNfsServer } from '../targets/nfs-server.ts';

const server = await startNfsServer({ after });

test('a server whose cable is cut stalls only its own volume, which is unmounted by force', async t => {
  const node = await startGuestNode(t, { ...local, 'command-timeout': '5s' });
  const { bench, client } = node;
  mkdirSync(join(server.root, 'hung'));
  const share = node.volumeAt({
    name: 'hung',
    attachment: toExport('/hung', server.address),
    capability: { mount: {}, access_mode: { mode: 'MULTI_NODE_MULTI_WRITER' } },
  });
  const disk = node.volumeAt({
    name: 'disk',
    attachment: requestFor(bench, bench.makeImage('disk', { sizeBytes: 16 * 2 ** 20 })).attachment,
  });
  await node.bringUp(share);
  node.write(share);
  await node.usage(share);
  server.cut();
  const asked = client.node.NodeGetVolumeStats(share).catch((error: unknown) => error);
  await client.identity.Probe({});
  await node.bringUp(disk);
  node.write(disk);
  await node.takeDown(disk);
  await client.identity.Probe({});
  await asked;
  await node.takeDownHung(share);
  assert.deepEqual(mountsBelow(bench.directory), []);
  server.mend();
  await node.bringUp(share);
  assert.equal(node.read(share), 'data');
  await node.takeDown(share);
});
