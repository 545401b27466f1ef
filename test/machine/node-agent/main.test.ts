import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { nodeSettings } from '../../../node-agent/config.ts';
import { startNodeAgent } from '../../../node-agent/main.ts';
import { connectCsi } from '../../../src/csi/client.ts';
import { silentLog } from '../../../src/lib/log.ts';
import { readSettings } from '../../../src/lib/settings.ts';
import { prepareNode } from '../../harness/node/program.ts';
import { block, openRealBench } from '../../harness/node.ts';
import { toExport } from '../../harness/node/shares.ts';
import { clientOf } from '../../harness/csi-serving.ts';

function read(argv: readonly string[], env: NodeJS.ProcessEnv = {}) {
  return readSettings(nodeSettings, { argv, env });
}

const needed = ['--endpoint', 'unix:///csi/csi.sock', '--node-id', 'n1'];

test('the agent needs only an endpoint and a node id', () => {
  const { values } = read(['--node-id', 'n1'], { CSI_ENDPOINT: 'unix:///csi/csi.sock' });
  assert.deepEqual(values, read(needed).values);
  assert.deepEqual(values, {
    endpoint: '/csi/csi.sock',
    'node-id': 'n1',
    'state-dir': '/var/lib/fairlead',
    'kubelet-dir': '/var/lib/kubelet',
    protocols: ['loop', 'bind', 'nfs', 'iscsi', 'nvme-tcp', 'rbd', 'cephfs', 'device', 'csi'],
    'driver-name': 'csi.fairlead.dev',
    'plugin-capabilities': [],
    'default-fs': 'ext4',
    'max-volumes': 0,
    'command-timeout': 60_000,
    'shutdown-grace': 25_000,
    'lazy-unmount': false,
    'log-level': 'info',
  });
});

const bad = [
  ['--node-id', 'x'.repeat(149), 'has 149 bytes, more than the 148 allowed'],
  ['--default-fs', 'ntfs', '"ntfs" is not one of ext4, xfs, btrfs'],
  ['--command-timeout', '2m', '"2m" is not from 1s to less than 2m'],
  ['--max-volumes', '-1', '"-1" is not a whole number from 0 to 1000000'],
  ['--topology', 'zone', '"zone" is not key=value'],
  ['--kubelet-dir', 'x', '"x" is not an absolute path'],
  [
    '--protocols',
    'nfs,tape',
    '"tape" is not one of loop, bind, nfs, iscsi, nvme-tcp, rbd, cephfs, device, csi',
  ],
  ['--local-roots', '/srv,x', '"x" is not an absolute path'],
  ['--local-roots', 'fast=/srv,fast=x', '"x" is not an absolute path'],
  [
    '--local-roots',
    '-fast=/srv',
    '"-fast" is not a name of at most 32 lower-case letters, digits and inner dashes',
  ],
] as const;

for (const [flag, value, fault] of bad)
  test(`the setting ${flag} ${value.slice(0, 20)} is refused`, () => {
    const others = flag === '--node-id' ? needed.slice(0, 2) : needed;
    assert.deepEqual(read([...others, flag, value]).faults, [`${flag}: ${fault}`]);
  });

test('node id, limit and topology come from files, the agent serves both services, and it removes its socket at its end', async t => {
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
  const paths = ['--state-dir', `${directory}/state`, '--kubelet-dir', '/', '--local-roots', directory];
  const { values, faults } = read(['--endpoint', `unix://${socket}`, ...paths], env);
  assert.ok(values, String(faults));
  const running = await startNodeAgent(values, silentLog);
  assert.equal(running.ready['node'], `unix://${socket}`);
  assert.match(running.ready['nodeId'] ?? '', /^n7~[\w-]{43}$/);
  const client = connectCsi(`unix://${socket}`);
  const info = await client.node.NodeGetInfo({});
  assert.equal((await client.identity.Probe({})).ready?.value, true);
  await assert.rejects(client.node.NodeStageVolume({}), { code: 'INVALID_ARGUMENT' });
  client.close();
  await running.close();
  assert.equal(existsSync(socket), false);
  assert.equal(info.node_id, running.ready['nodeId']);
  assert.equal(Number(info.max_volumes_per_node), 25);
  const segments = info.accessible_topology?.segments ?? {};
  assert.equal(segments['csi.fairlead.dev/zone'], 'a');
  assert.equal(segments['csi.fairlead.dev/rack'], undefined);
  // This machine can set up loop devices, or this test could not run.
  assert.equal(segments['csi.fairlead.dev/protocol-loop'], 'true');
});

test("kubelet's directory must not be a file, and a missing one is a warning", async t => {
  const node = prepareNode(t);
  writeFileSync(`${node.dir}/file`, '');
  const refused = node.startAgent({ 'kubelet-dir': `${node.dir}/file` });
  await assert.rejects(refused.ready);
  assert.equal(refused.stderr(), `fairlead node: kubelet-dir "${node.dir}/file" is not a directory\n`);
  const early = node.startAgent({ 'kubelet-dir': `${node.dir}/later` });
  await early.ready;
  await early.untilLogged(/"path":"[^"]*\/later","msg":"kubelet's directory does not exist yet;/);
});

test("a record with impossible values does not prevent the agent's start, and is reported", async t => {
  const node = prepareNode(t);
  const earlier = node.startAgent();
  await earlier.ready;
  await earlier.end();
  const common = { attachment: toExport('/v'), targets: [] };
  const capability = { accessType: 'mount', accessMode: 'SINGLE_NODE_WRITER' };
  const records = [
    { ...common, volumeId: 'c.v', capability: block, stagingPath: `${node.root}/v` },
    { ...common, volumeId: 'c.w', capability, stagingPath: '/elsewhere/w' },
    { ...common, volumeId: 'c.x', capability, stagingPath: '/elsewhere/x', isDown: true },
    {
      ...common,
      volumeId: 'c.y',
      attachment: { ...toExport('/v'), protocol: 'nbd' },
      capability,
      stagingPath: `${node.root}/y`,
    },
  ];
  for (const record of records)
    writeFileSync(
      `${node.state}/volumes/${record.volumeId.replace('.', '_')}-${hash('sha256', record.volumeId).slice(0, 16)}.json`,
      JSON.stringify({ version: 2, digest: hash('sha256', JSON.stringify(record)), record }),
    );
  const agent = node.startAgent({ 'metrics-listen': '127.0.0.1:0' });
  const metrics = await fetch(`http://${(await agent.ready)['metrics']}/metrics`);
  assert.match(await metrics.text(), /^fairlead_node_damaged_records 3$/m);
  for (const fault of [
    /is a share, which has no block device.*the record of a volume is damaged/,
    /"\/elsewhere\/w\\" does not lie below.*the record of a volume is damaged/,
  ])
    await agent.untilLogged(fault);
  const client = clientOf(t, node.socket);
  const unstage = (volume_id: string) =>
    client.node.NodeUnstageVolume({ volume_id, staging_target_path: `${node.root}/${volume_id}` });
  await assert.rejects(unstage('c.v'), { code: 'FAILED_PRECONDITION', message: /is damaged/ });
  await assert.rejects(unstage('c.w'), { code: 'FAILED_PRECONDITION', message: /is damaged/ });
  await assert.rejects(unstage('c.y'), {
    code: 'FAILED_PRECONDITION',
    message: /nbd is no longer offered: drain and reboot the node/,
  });
  await unstage('c.x');
});
