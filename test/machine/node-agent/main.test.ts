import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { nodeSettings } from '../../../node-agent/config.ts';
import { startNodeAgent } from '../../../node-agent/main.ts';
import { connectCsi } from '../../../src/csi/client.ts';
import { silentLog } from '../../../src/lib/log.ts';
import { readSettings } from '../../../src/lib/settings.ts';
import { openNode } from '../../harness/agent.ts';
import { openRealBench } from '../../harness/node-agent-bench.ts';

function read(argv: readonly string[], env: NodeJS.ProcessEnv = {}) {
  return readSettings(nodeSettings, { argv, env });
}

const needed = ['--endpoint', 'unix:///csi/csi.sock', '--node-id', 'n1'];

test('an endpoint and a node id are all that the agent needs', () => {
  assert.deepEqual(read(needed).values, {
    endpoint: '/csi/csi.sock',
    'node-id': 'n1',
    'state-dir': '/var/lib/fairlead',
    'kubelet-dir': '/var/lib/kubelet',
    'driver-name': 'csi.fairlead.dev',
    'plugin-capabilities': ['group-snapshots', 'changed-blocks'],
    'default-fs': 'ext4',
    'max-volumes': 0,
    'command-timeout': 60_000,
    'shutdown-grace': 25_000,
    'lazy-unmount': 'false',
    'log-level': 'info',
  });
});

test('CSI_ENDPOINT names the endpoint too', () => {
  assert.equal(
    read(['--node-id', 'n1'], { CSI_ENDPOINT: 'unix:///csi/csi.sock' }).values?.endpoint,
    '/csi/csi.sock',
  );
});

const bad = [
  { argv: ['--node-id', 'x'.repeat(257)], fault: '--node-id: has 257 bytes, more than the 256 allowed' },
  { argv: ['--default-fs', 'ntfs'], fault: '--default-fs: "ntfs" is not one of ext4, xfs, btrfs' },
  { argv: ['--command-timeout', '2m'], fault: '--command-timeout: "2m" is not from 1s to less than 2m' },
  { argv: ['--max-volumes', '-1'], fault: '--max-volumes: "-1" is not a whole number from 0 to 1000000' },
  { argv: ['--topology', 'zone'], fault: '--topology: "zone" is not key=value' },
  { argv: ['--kubelet-dir', 'x'], fault: '--kubelet-dir: "x" is not an absolute path' },
];

for (const { argv, fault } of bad) {
  test(`the setting ${argv.join(' ').slice(0, 40)} is refused`, () => {
    const name = argv[0] ?? '';
    const kept = name === '--node-id' ? needed.slice(0, 2) : needed;
    assert.deepEqual(read([...kept, name, ...argv.slice(1)]).faults, [fault]);
  });
}

test('node id, limit and topology come from files, and NodeGetInfo tells them', async t => {
  const { directory } = openRealBench(t);
  const files = { 'node-id': 'n7\n', 'max-volumes': '25\n', topology: 'zone=a\nrack=\n' };
  for (const [name, text] of Object.entries(files)) writeFileSync(`${directory}/${name}`, text);
  const env = {
    FAIRLEAD_NODE_ID_FILE: `${directory}/node-id`,
    FAIRLEAD_MAX_VOLUMES_FILE: `${directory}/max-volumes`,
    FAIRLEAD_TOPOLOGY_FILE: `${directory}/topology`,
    FAIRLEAD_PLUGIN_CAPABILITIES: 'topology',
  };
  const socket = `${directory}/csi.sock`;
  const places = ['--state-dir', `${directory}/state`, '--kubelet-dir', directory];
  const { values, faults } = read(['--endpoint', socket, ...places], env);
  assert.ok(values, String(faults));
  const running = await startNodeAgent(values, silentLog);
  const client = connectCsi(`unix://${socket}`);
  const info = await client.node.NodeGetInfo({});
  client.close();
  await running.close();
  assert.equal(info.node_id, 'n7');
  assert.equal(Number(info.max_volumes_per_node), 25);
  assert.equal(info.accessible_topology?.segments['csi.fairlead.dev/zone'], 'a');
  assert.equal(info.accessible_topology?.segments['csi.fairlead.dev/rack'], undefined);
  // This machine can set up loop devices, or this test could not run.
  assert.equal(info.accessible_topology?.segments['csi.fairlead.dev/protocol-loop'], 'true');
  assert.equal(info.accessible_topology?.segments['csi.fairlead.dev/protocol-bind'], 'true');
});

test("kubelet's directory may be a file never, and missing with a warning", async t => {
  const node = openNode(t);
  writeFileSync(`${node.dir}/file`, '');
  const refused = node.startAgent({ 'kubelet-dir': `${node.dir}/file` });
  await assert.rejects(refused.ready);
  assert.equal(refused.stderr(), `fairlead node: kubelet-dir "${node.dir}/file" is no directory\n`);
  const early = node.startAgent({ 'kubelet-dir': `${node.dir}/later` });
  await early.ready;
  assert.match(early.stderr(), /"path":"[^"]*\/later","msg":"kubelet's directory is not there;/);
});

test('the agent serves Identity and Node on its socket, and removes the socket at its end', async t => {
  const { directory } = openRealBench(t);
  const socket = `${directory}/csi.sock`;
  const places = ['--state-dir', `${directory}/state`, '--kubelet-dir', directory];
  const { values } = read(['--endpoint', `unix://${socket}`, '--node-id', 'n1', ...places]);
  assert.ok(values);
  const running = await startNodeAgent(values, silentLog);
  const client = connectCsi(`unix://${socket}`);
  assert.deepEqual(running.ready, { node: `unix://${socket}`, nodeId: 'n1' });
  assert.equal((await client.node.NodeGetInfo({})).node_id, 'n1');
  assert.equal((await client.identity.Probe({})).ready?.value, true);
  await assert.rejects(client.node.NodeStageVolume({}), { code: 'INVALID_ARGUMENT' });
  await assert.rejects(client.node.NodeExpandVolume({}), { code: 'INVALID_ARGUMENT' });
  client.close();
  await running.close();
  assert.equal(existsSync(socket), false);
});
