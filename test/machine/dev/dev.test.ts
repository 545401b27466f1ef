import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { connectCsi } from '../../../src/csi/client.ts';
import type { VolumeCapability } from '../../../src/csi/generated/csi/v1/VolumeCapability.ts';
import { cli, startDev, type Dev } from '../../harness/dev.ts';
import {
  loopDevicesOf,
  makeTemporaryDirectory,
  mountsBelow,
  noRoot,
  removeTemporaryDirectory,
} from '../../harness/machine.ts';

const capability: VolumeCapability = {
  mount: { fs_type: 'ext4' },
  access_mode: { mode: 'SINGLE_NODE_WRITER' },
};

test(
  'dev prints exactly one line, JSON, and ends cleanly on SIGTERM and SIGINT',
  { skip: noRoot },
  async t => {
    const dir = temporaryDirectory(t);
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      const dev = await startDev({ dir: join(dir, 'dev'), 'node-id': 'n1' });
      assert.match(dev.gateway, /^http:\/\/127\.0\.0\.1:\d+$/);
      assert.match(dev.controller, /^unix:\/\/\/.*\.sock$/);
      assert.equal(dev.nodeId, 'n1');
      assert.deepEqual(await dev.end(signal), { status: 0, signal: null });
      assert.equal(dev.stdout.length, 1);
    }
  },
);

for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
  test(`volumes, attachments and mounts survive a restart after ${signal}`, { skip: noRoot }, async t => {
    const dir = temporaryDirectory(t);
    const paths = { staging: join(dir, 'staging'), target: join(dir, 'target') };
    mkdirSync(paths.staging);
    const before = await startDev({ dir: join(dir, 'dev') });
    const volumeId = await mountVolume(before, 'kept', paths);
    writeFileSync(join(paths.target, 'file'), 'still here');
    await before.end(signal);
    assert.equal(readFileSync(join(paths.target, 'file'), 'utf8'), 'still here');

    const after = await startDev({ dir: join(dir, 'dev') });
    const controller = connectCsi(after.controller);
    const { entries } = await controller.controller.ListVolumes({});
    assert.deepEqual(
      entries.map(({ volume, status }) => [volume?.volume_id, status?.published_node_ids]),
      [[volumeId, [after.nodeId]]],
    );
    controller.close();
    assert.equal(await mountVolume(after, 'kept', paths), volumeId);
    assert.equal(readFileSync(join(paths.target, 'file'), 'utf8'), 'still here');
    await removeVolume(after, volumeId, paths);
    await after.end();
    assert.deepEqual(mountsBelow(dir), []);
    assert.deepEqual(loopDevicesOf(dir), []);
  });
}

test(
  'a second dev on the same directory is refused in one line and disturbs nothing',
  { skip: noRoot },
  async t => {
    const dir = temporaryDirectory(t);
    const dev = await startDev({ dir });
    const second = spawnSync(process.execPath, [cli, 'dev', '--dir', dir], { encoding: 'utf8' });
    assert.equal(second.status, 1);
    assert.match(second.stderr, /^fairlead dev: socket ".*\.sock" is in use by a live instance\n$/);
    const client = connectCsi(dev.node);
    assert.equal((await client.identity.Probe({})).ready?.value, true);
    client.close();
    await dev.end();
  },
);

test('a taken port is one clear line and exit status 1', async t => {
  const dir = temporaryDirectory(t);
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise(resolve => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  const { status, stderr } = spawnSync(
    process.execPath,
    [cli, 'dev', '--dir', dir, '--listen', `127.0.0.1:${port}`],
    { encoding: 'utf8' },
  );
  server.close();
  assert.equal(status, 1);
  assert.match(stderr, new RegExp(`127\\.0\\.0\\.1:${port} is already in use`));
});

test('a directory that cannot be written is one clear line and exit status 1', async t => {
  const dir = temporaryDirectory(t);
  writeFileSync(join(dir, 'file'), '');
  const { status, stderr } = spawnSync(process.execPath, [cli, 'dev', '--dir', join(dir, 'file')], {
    encoding: 'utf8',
  });
  assert.equal(status, 1);
  assert.equal(stderr.trimEnd().split('\n').length, 1, stderr);
  assert.match(stderr, /^fairlead dev: .*file/);
});

test('dev serves the pools of a file of your own', { skip: noRoot }, async t => {
  const dir = temporaryDirectory(t);
  const config = join(dir, 'pools.yaml');
  writeFileSync(config, 'pools: { one: { backend: memory }, two: { backend: memory } }');
  const dev = await startDev({ dir: join(dir, 'dev'), config });
  const { controller, close } = connectCsi(dev.controller);
  t.after(async () => {
    close();
    await dev.end();
  });
  const request = { name: 'a', volume_capabilities: [capability] };
  await assert.rejects(controller.CreateVolume(request), { code: 'INVALID_ARGUMENT' });
  const { volume } = await controller.CreateVolume({ ...request, parameters: { pool: 'two' } });
  assert.equal(volume?.volume_id, 'dev.a');
});

test('all faults of a file of your own are told, one on a line', { skip: noRoot }, async t => {
  const dir = temporaryDirectory(t);
  const config = join(dir, 'pools.yaml');
  writeFileSync(config, 'pools: { one: { backend: floppy }, two: { backend: image } }');
  const { status, stderr } = spawnSync(process.execPath, [cli, 'dev', '--dir', dir, '--config', config], {
    encoding: 'utf8',
  });
  assert.equal(status, 1);
  assert.match(
    stderr,
    /gateway\.yaml:\d+: pools\.one\.backend: .*\n.*gateway\.yaml:\d+: pools\.two\.dir: .*\n$/,
  );
});

test('the demo proves what it says and leaves nothing behind', { skip: noRoot }, async t => {
  const dir = temporaryDirectory(t);
  const { status, stdout, stderr } = spawnSync(process.execPath, [cli, 'demo'], {
    encoding: 'utf8',
    env: { ...process.env, TMPDIR: dir },
  });
  assert.equal(status, 0, stderr);
  assert.match(stdout, /✓ NodeStageVolume/);
  assert.match(stdout, /Proved: /);
  assert.deepEqual(mountsBelow(dir), []);
  assert.deepEqual(loopDevicesOf(dir), []);
});

type Paths = { readonly staging: string; readonly target: string };

function temporaryDirectory(t: TestContext): string {
  const dir = makeTemporaryDirectory();
  t.after(() => removeTemporaryDirectory(dir));
  return dir;
}

/** Everything up to NodePublish, as a caller repeats it after a restart. */
async function mountVolume(dev: Dev, name: string, { staging, target }: Paths): Promise<string> {
  const controller = connectCsi(dev.controller);
  const node = connectCsi(dev.node);
  const request = { name, capacity_range: { required_bytes: 2 ** 28 }, volume_capabilities: [capability] };
  const { volume } = await controller.controller.CreateVolume(request);
  const named = { volume_id: volume?.volume_id ?? '', volume_capability: capability };
  const { publish_context } = await controller.controller.ControllerPublishVolume({
    ...named,
    node_id: dev.nodeId,
  });
  const staged = { ...named, publish_context, staging_target_path: staging };
  await node.node.NodeStageVolume(staged);
  await node.node.NodePublishVolume({ ...staged, target_path: target });
  controller.close();
  node.close();
  return named.volume_id;
}

async function removeVolume(dev: Dev, volumeId: string, { staging, target }: Paths): Promise<void> {
  const controller = connectCsi(dev.controller);
  const node = connectCsi(dev.node);
  await node.node.NodeUnpublishVolume({ volume_id: volumeId, target_path: target });
  await node.node.NodeUnstageVolume({ volume_id: volumeId, staging_target_path: staging });
  await controller.controller.ControllerUnpublishVolume({ volume_id: volumeId, node_id: dev.nodeId });
  await controller.controller.DeleteVolume({ volume_id: volumeId });
  controller.close();
  node.close();
}
