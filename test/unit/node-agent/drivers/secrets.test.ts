import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { openDriverVolumes } from '../../../../node-agent/drivers/volumes.ts';
import { createNode } from '../../../../node-agent/node.ts';
import { openNodeKey } from '../../../../node-agent/state/node-key.ts';
import { toNodeId } from '../../../../src/api/ids.ts';
import { driverAttachment as attachment } from '../../../fakes/storages/node-plugin.ts';
import { serveCsi } from '../../../harness/csi-serving.ts';
import { openFakeBench, startAgent } from '../../../harness/node.ts';
import { openSigningGateway } from '../signing-gateway.ts';

const volumeId = 'a.v';
const stagingPath = '/bench/stage/v';
const secrets = { 'stage-secret/password': 'canary-stage', 'expand-secret/password': 'canary-expand' };
const capability = {
  access_type: 'mount',
  mount: { fs_type: 'ext4', mount_flags: [], volume_mount_group: '' },
  block: null,
  access_mode: { mode: 'SINGLE_NODE_WRITER' },
};

/** Opens a node with the plugin of another driver, which refuses to grow a volume without its secret. */
async function open(t: TestContext) {
  const grown: unknown[] = [];
  const types = ['STAGE_UNSTAGE_VOLUME', 'EXPAND_VOLUME'] as const;
  const plugin = {
    NodeGetInfo: async () => ({ node_id: attachment.driverNodeId }),
    NodeGetCapabilities: async () => ({ capabilities: types.map(type => ({ rpc: { type } })) }),
    NodeStageVolume: async () => ({}),
    NodeUnstageVolume: async () => ({}),
    NodeExpandVolume: async (request: { readonly secrets: unknown }) => {
      grown.push(request.secrets);
      return { capacity_bytes: 2 ** 31 };
    },
  };
  const { socketPath } = await serveCsi(t, { node: plugin });
  const bench = openFakeBench();
  const key = await openNodeKey('/bench/state/node-key.json', bench.host, true);
  const nodeId = toNodeId({ name: 'n1', key: key?.publicKey ?? '' });
  const gateway = await openSigningGateway(t);
  const start = async (opening = key) => {
    const agent = await startAgent(bench);
    const trusting = { ...agent, trust: { ...agent.trust, drivers: new Map([['old.example', socketPath]]) } };
    const others = await openDriverVolumes(trusting, '/bench/state');
    return createNode(trusting, {
      nodeId,
      key: opening,
      maxVolumes: 0,
      topology: async () => ({}),
      others,
    });
  };
  const call = { deadlineMs: Date.now() + 60_000, requestId: 'r', signal: new AbortController().signal };
  const publish_context = await gateway.attach(attachment, { volumeId, nodeId, secrets });
  const request = {
    volume_id: volumeId,
    staging_target_path: stagingPath,
    volume_path: stagingPath,
    volume_capability: capability,
    volume_context: {},
    secrets: {},
    publish_context,
    capacity_range: { required_bytes: String(2 ** 31), limit_bytes: '0' },
  };
  type Node = Awaited<ReturnType<typeof start>>;
  const ask = async (node: Node, rpc: keyof Node) => node[rpc]?.(request as never, call);
  return { host: bench.host, grown, start, ask };
}

test("a driver gets its secret to grow a volume after the agent's restart, and no record holds it open", async t => {
  const { host, grown, start, ask } = await open(t);
  await ask(await start(), 'NodeStageVolume');
  const kept = [...host.state.texts.values()].join('\n');
  assert.match(kept, /"sealed"/);
  assert.doesNotMatch(kept, /canary/);
  const restarted = await start();
  assert.deepEqual(await ask(restarted, 'NodeExpandVolume'), { capacity_bytes: 2 ** 31 });
  assert.deepEqual(grown, [{ password: 'canary-expand' }]);
  await ask(restarted, 'NodeUnstageVolume');
  assert.doesNotMatch([...host.state.texts.values()].join('\n'), /"sealed"/);
});

test('a driver is not asked to grow a volume whose secrets are sealed to another key', async t => {
  const { host, grown, start, ask } = await open(t);
  await ask(await start(), 'NodeStageVolume');
  const other = await openNodeKey('/bench/state/other-key.json', host, true);
  await assert.rejects(ask(await start(other), 'NodeExpandVolume'), {
    code: 'FAILED_PRECONDITION',
    message: /sealed to another key/,
  });
  assert.deepEqual(grown, []);
});
