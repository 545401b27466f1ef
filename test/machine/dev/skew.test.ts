import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { schemaVersion } from '../../../gateway/tables/schema.ts';
import { startChild } from '../../../src/dev/children.ts';
import { enroll } from '../../../src/dev/dev.ts';
import { version } from '../../../src/lib/version.ts';
import { directoryOf, noRoot } from '../../harness/machine.ts';
import { sample } from '../../harness/sample.ts';
import { startTrio, type Trio } from '../../harness/trio.ts';
import { clientOf } from '../../harness/csi-serving.ts';

const [release = ''] = globSync('test/releases/fairlead-*.tgz');
const access_mode = { mode: 'SINGLE_NODE_WRITER' } as const;
const volume_capability = { mount: { fs_type: 'xfs' }, access_mode };
const MiB = 2 ** 20;
const plugins = ['controller', 'node'];

test('one previous release is kept, and it is not newer than this version', () => {
  assert.equal(globSync('test/releases/*').length, 1);
  assert.match(release, /\/fairlead-\d+\.\d+\.\d+\.tgz$/);
});

const mixes = [
  { title: 'agents and a controller of the previous release work with this gateway', programs: plugins },
  {
    title: "this version's agents and controller work with a gateway of the previous release",
    programs: ['gateway'],
  },
  { title: "this version's agents work with a controller of the previous release", programs: ['controller'] },
];
for (const { title, programs } of sample('mixes', mixes, 1))
  test(title, { skip: noRoot }, async t => {
    const dir = directoryOf(t);
    const trio = await startTrio(t, { ...planOf(dir), others: { programs, entry: unpack(dir) } });
    const life = openLife(t, trio);
    await life.begin();
    await life.expand();
    await life.detach();
    await life.snapshot();
    await life.remove();
  });

for (const updated of sample('updates', [['gateway'], plugins, ['gateway', ...plugins]], 1))
  test(
    `a volume that is in use stays so while ${updated.join(', ')} are updated`,
    { skip: noRoot },
    async t => {
      const dir = directoryOf(t);
      const entry = unpack(dir);
      const all = ['gateway', ...plugins];
      const previous = await startTrio(t, { ...planOf(dir), others: { programs: all, entry } });
      const before = openLife(t, previous);
      await before.begin();
      await previous.end();
      const programs = all.filter(program => !updated.includes(program));
      const after = openLife(t, await startTrio(t, { ...planOf(dir), others: { programs, entry } }));
      after.check();
      await after.detach();
      await after.remove();
    },
  );

/** The versions of the store that the page names: this version's, and the previous release's. */
const [, current, older] =
  /schema version (\d+) now, and the gateway of the previous release supports at most (\d+)/.exec(
    readFileSync('docs/compatibility.md', 'utf8').replaceAll('\n', ' '),
  ) ?? [];

test('docs/compatibility.md names the schema version of the store', () => {
  assert.equal(current, String(schemaVersion));
});

test('a version with other tables than the previous release has another number', () => {
  const isSame = release === `test/releases/fairlead-${version}.tgz`;
  assert.ok(!isSame || older === current, `raise the version: ${version} is released`);
});

test(
  'a gateway of the previous release refuses a store that this version has opened',
  { skip: older === current && 'both have the same tables' },
  async t => {
    const dir = directoryOf(t);
    const entry = unpack(dir);
    const { configFile: config } = await enroll(dir, { pool: { backend: 'memory' } });
    const settings = { listen: '127.0.0.1:0', store: join(dir, 'store.sqlite'), config };
    for (const program of [entry, undefined]) {
      const gateway = startChild('gateway', settings, program);
      t.after(() => gateway.close());
      await gateway.ready;
      await gateway.close();
    }
    const argv = Object.entries(settings).map(([name, value]) => `--${name}=${value}`);
    const { status, stderr } = spawnSync(process.execPath, [entry, 'gateway', ...argv], {
      encoding: 'utf8',
      // It would serve for ever if it accepted the store.
      timeout: 60_000,
    });
    assert.equal(status, 1);
    const message = `the store has schema version ${current}, but this gateway supports at most ${older}`;
    assert.ok(stderr.includes(message), stderr);
  },
);

function planOf(dir: string) {
  mkdirSync(join(dir, 'pool'), { recursive: true });
  return { dir, pool: { backend: 'image', dir: join(dir, 'pool') }, nodeNames: ['n1'] };
}

/** Unpacks the previous release and returns its entry file. */
function unpack(dir: string): string {
  execFileSync('tar', ['--extract', '--file', release, '--directory', dir]);
  return join(dir, 'package/lib/fairlead.mjs');
}

/** The life of one volume in steps. Steps of another trio on the same directory continue it. */
function openLife(t: TestContext, { controller: endpoint, nodes }: Trio) {
  const [first] = nodes;
  assert.ok(first);
  const { nodeId, directory, endpoint: socket } = first;
  const [{ controller }, { node }] = [clientOf(t, endpoint), clientOf(t, socket)];
  const volume_id = 'dev.skew';
  const staging_target_path = join(directory, 'staging');
  const target_path = join(directory, 'target');
  const file = join(target_path, 'file');
  const content = 'written before the update';
  const check = (): void => assert.equal(readFileSync(file, 'utf8'), content);
  return {
    check,
    async begin() {
      const { volume } = await controller.CreateVolume({
        name: 'skew',
        capacity_range: { required_bytes: 300 * MiB },
        volume_capabilities: [volume_capability],
      });
      assert.equal(volume?.volume_id, volume_id);
      const asked = { volume_id, volume_context: volume.volume_context, volume_capability };
      const { publish_context } = await controller.ControllerPublishVolume({ ...asked, node_id: nodeId });
      mkdirSync(staging_target_path);
      const staging = { ...asked, publish_context, staging_target_path };
      await node.NodeStageVolume(staging);
      await node.NodePublishVolume({ ...staging, target_path });
      writeFileSync(file, content);
      check();
    },
    async expand() {
      const capacity_range = { required_bytes: 400 * MiB };
      const asked = { volume_id, capacity_range, volume_capability };
      const { node_expansion_required } = await controller.ControllerExpandVolume(asked);
      assert.equal(node_expansion_required, true);
      await node.NodeExpandVolume({ ...asked, volume_path: target_path, staging_target_path });
      check();
    },
    async snapshot() {
      const { snapshot } = await controller.CreateSnapshot({ name: 'skew', source_volume_id: volume_id });
      const { entries } = await controller.ListSnapshots({});
      assert.deepEqual(
        entries.map(entry => entry.snapshot?.snapshot_id),
        [snapshot?.snapshot_id],
      );
      await controller.DeleteSnapshot({ snapshot_id: snapshot?.snapshot_id ?? '' });
    },
    async detach() {
      await node.NodeUnpublishVolume({ volume_id, target_path });
      await node.NodeUnstageVolume({ volume_id, staging_target_path });
      await controller.ControllerUnpublishVolume({ volume_id, node_id: nodeId });
    },
    async remove() {
      await controller.DeleteVolume({ volume_id });
      assert.deepEqual((await controller.ListVolumes({})).entries, []);
    },
  };
}
