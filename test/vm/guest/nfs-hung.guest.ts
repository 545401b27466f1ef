import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { mountsBelow } from '../../harness/machine.ts';
import { requestFor } from '../../harness/node-agent-bench.ts';
import { toExport } from '../../harness/node-agent-share-bench.ts';
import { bringUp, readText, startGuestNode, takeDown, volumeAt, writeText } from './agent.ts';
import { startNfsServer } from '../targets/nfs-server.ts';

const server = await startNfsServer({ after });

test('a server whose cable is cut stalls its own volume alone, which comes off by force', async t => {
  const node = await startGuestNode(t, { 'command-timeout': '5s' });
  const { bench, client } = node;
  mkdirSync(join(server.root, 'hung'));
  const share = volumeAt(node, {
    name: 'hung',
    attachment: toExport('/hung', server.address),
    capability: { mount: {}, access_mode: { mode: 'MULTI_NODE_MULTI_WRITER' } },
  });
  const disk = volumeAt(node, {
    name: 'disk',
    attachment: requestFor(bench, bench.makeImage('disk', { sizeBytes: 16 * 2 ** 20 })).attachment,
  });
  await bringUp(node, share);
  writeText(share);
  await client.node.NodeGetVolumeStats(share);
  server.cut();
  const asked = client.node.NodeGetVolumeStats(share).catch((error: unknown) => error);
  await client.identity.Probe({});
  await bringUp(node, disk);
  writeText(disk);
  await takeDown(node, disk);
  await client.identity.Probe({});
  await asked;
  await takeDown(node, share);
  assert.deepEqual(mountsBelow(bench.directory), []);
  server.mend();
  await bringUp(node, share);
  assert.equal(readText(share), 'data');
  await takeDown(node, share);
});
