import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import type { VolumeCapability } from '../../../src/csi/generated/csi/v1/VolumeCapability.ts';
import { openDev, type OpenDev } from '../../harness/dev.ts';
import { cli } from '../../harness/program.ts';
import { directoryOf, loopDevicesOf, mountsBelow, noRoot } from '../../harness/machine.ts';
import { sample } from '../../harness/sample.ts';
import { listen } from '../../harness/listen.ts';

const capability: VolumeCapability = {
  mount: { fs_type: 'ext4' },
  access_mode: { mode: 'SINGLE_NODE_WRITER' },
};

for (const signal of sample('signals', ['SIGTERM', 'SIGKILL'] as const, 1))
  test(`volumes, attachments and mounts survive a restart after ${signal}`, { skip: noRoot }, async t => {
    const first = await openDev(t, { 'node-id': 'n1' });
    const { dir, dev: before } = first;
    const paths = { staging: join(dir, 'staging'), target: join(dir, 'target') };
    mkdirSync(paths.staging);
    assert.match(before.gateway, /^http:\/\/127\.0\.0\.1:\d+$/);
    assert.match(before.nodeId, /^n1~[\w-]{43}$/);
    const volumeId = await mountVolume(first, paths);
    writeFileSync(join(paths.target, 'file'), 'still here');
    await before.end(signal);
    const { gateway, controller: socket, node, nodeId } = before;
    assert.deepEqual(JSON.parse(before.stdout()), { gateway, controller: socket, node, nodeId });
    assert.equal(readFileSync(join(paths.target, 'file'), 'utf8'), 'still here');

    const again = await openDev(t, { 'node-id': 'n1' }, dir);
    const { dev: after, controller } = again;
    const { entries } = await controller.controller.ListVolumes({});
    assert.deepEqual(
      entries.map(({ volume, status }) => [volume?.volume_id, status?.published_node_ids]),
      [[volumeId, [after.nodeId]]],
    );
    assert.equal(await mountVolume(again, paths), volumeId);
    assert.equal(readFileSync(join(paths.target, 'file'), 'utf8'), 'still here');
    await removeVolume(again, volumeId, paths);
    const last = signal === 'SIGKILL' ? 'SIGTERM' : 'SIGINT';
    await after.end(last);
    assert.equal(await after.ended, 0);
    assert.deepEqual(mountsBelow(dir), []);
    assert.deepEqual(loopDevicesOf(dir), []);
  });

test('a start with errors reports each in a line and exits with status 1', async t => {
  const dir = directoryOf(t);
  const [file, pools] = [join(dir, 'file'), join(dir, 'pools.yaml')];
  writeFileSync(file, '');
  const [whole = '', scalar = '', broken = '', empty = ''] = ['whole', 'scalar', 'broken', 'empty'].map(
    name => join(dir, `${name}.yaml`),
  );
  writeFileSync(whole, 'pools: {}\nclusters: { east: { keys: east.jwks.json }, west: {} }');
  writeFileSync(scalar, 'pools');
  writeFileSync(broken, 'pools: [');
  writeFileSync(pools, 'pools:\n  one: { backend: floppy }\n  two: { backend: image }\n');
  writeFileSync(empty, '{}');
  const address = await listen(t, createServer());
  for (const [flags, fault] of [
    [['--dir', dir, '--listen', address], new RegExp(`${address} is already in use\n$`)],
    [['--dir', file], /^fairlead dev: .*file.*\n$/],
    [
      ['--dir', dir, '--config', whole],
      /^fairlead dev: .*whole\.yaml: remove "clusters": .*\nfairlead dev: .*whole\.yaml:1: pools: at least one .*\n$/,
    ],
    [
      ['--dir', dir, '--config', scalar],
      /^fairlead dev: .*scalar\.yaml: the file is not a YAML mapping with pools\n$/,
    ],
    [['--dir', dir, '--config', broken], /^fairlead dev: .*broken\.yaml:1:\d+: .*\n$/],
    [
      ['--dir', dir, '--config', pools],
      /^fairlead dev: \S+\/pools\.yaml:2: pools\.one\.backend: .*\nfairlead dev: \S+\/pools\.yaml:3: pools\.two\.dir: .*\n$/,
    ],
    [['--dir', dir, '--config', empty], /^fairlead dev: \S+\/empty\.yaml: pools: .*\n$/],
    [
      ['--dir', dir, '--config', join(dir, 'no.yaml')],
      /^fairlead dev: --config: "\S+\/no\.yaml" does not exist/,
    ],
  ] as const) {
    const { status, stderr } = spawnSync(process.execPath, [cli, 'dev', ...flags], { encoding: 'utf8' });
    assert.equal(status, 1);
    assert.match(stderr, fault);
  }
});

test('a second dev on the same directory is refused and disturbs nothing', { skip: noRoot }, async t => {
  const { dir, node } = await openDev(t);
  const argv = [cli, 'dev', '--dir', join(dir, 'dev')];
  const second = spawnSync(process.execPath, argv, { encoding: 'utf8' });
  assert.equal(second.status, 1);
  assert.match(
    second.stderr,
    /^fairlead dev: waiting for another fairlead dev in "\S+" to end \(\d s\)\nfairlead dev: waiting [^\n]*\(\d+ s\)\nfairlead dev: socket ".*\.sock" is in use by another fairlead dev: end it, or choose another --dir\n$/,
  );
  assert.equal((await node.identity.Probe({})).ready?.value, true);
});

const inShell = ['sh', '-c', '"$@"; true', 'sh'];
const inNpx = { shells: [...inShell, ...inShell], env: { npm_execpath: 'npx' } };
const endings = [
  { ends: 'the shell that started it', shells: inShell, signal: 'SIGTERM', env: {}, isForAll: false },
  { ends: 'npx, though its shell lives on', ...inNpx, signal: 'SIGKILL', isForAll: false },
  { ends: 'npx and its shell, by a key of the terminal', ...inNpx, signal: 'SIGINT', isForAll: true },
  { ends: 'the terminal', ...inNpx, signal: 'SIGHUP', isForAll: true },
  { ends: 'dev itself, by force', shells: [], signal: 'SIGKILL', env: {}, isForAll: false },
] as const;
for (const { ends, shells, signal, env, isForAll } of sample('endings', endings, 2))
  test(`dev and its processes end with ${ends}`, { skip: noRoot }, async t => {
    const node = [process.execPath, cli, 'dev', '--context', 'none', '--dir', join(directoryOf(t), 'dev')];
    const [shell = '', ...argv] = [...shells, ...node];
    const outer = spawn(shell, argv, { detached: true, env: { ...process.env, ...env } });
    t.after(() => spawnSync('kill', ['-KILL', '--', `-${outer.pid}`]));
    // Each of the processes has stderr open, so it closes with the last of them.
    const ended = once(outer.stderr.resume(), 'close');
    await once(outer.stdout, 'data');
    process.kill(Number(outer.pid) * (isForAll ? -1 : 1), signal);
    await ended;
  });

test("dev serves the pools of the user's own file", { skip: noRoot }, async t => {
  const config = join(directoryOf(t), 'pools.yaml');
  writeFileSync(config, 'pools: { one: { backend: memory }, two: { backend: memory } }');
  const { controller } = (await openDev(t, { config })).controller;
  const request = { name: 'a', volume_capabilities: [capability] };
  await assert.rejects(controller.CreateVolume(request), { code: 'INVALID_ARGUMENT' });
  const { volume } = await controller.CreateVolume({ ...request, parameters: { pool: 'two' } });
  assert.equal(volume?.volume_id, 'dev.a');
});

test('the demo keeps its promises and leaves nothing behind', { skip: noRoot }, async t => {
  runDemo(directoryOf(t));
});

test('the demo runs in the pool of a running dev', { skip: noRoot }, async t => {
  const { dir, controller } = await openDev(t);
  runDemo(dir, '--dir', join(dir, 'dev'));
  assert.deepEqual((await controller.controller.ListVolumes({})).entries, []);
});

function runDemo(dir: string, ...flags: readonly string[]): void {
  const argv = [cli, 'demo', ...flags];
  const env = { ...process.env, TMPDIR: dir };
  const { status, stdout, stderr } = spawnSync(process.execPath, argv, { encoding: 'utf8', env });
  assert.equal(status, 0, stderr);
  assert.match(stdout, /✓ NodeStageVolume/);
  assert.match(stdout, /Proved: /);
  assert.deepEqual(mountsBelow(dir), []);
  assert.deepEqual(loopDevicesOf(dir), []);
}

type Paths = { readonly staging: string; readonly target: string };

/** Calls everything up to NodePublish, as a caller repeats it after a restart. */
async function mountVolume({ dev, controller, node }: OpenDev, { staging, target }: Paths): Promise<string> {
  const request = {
    name: 'data',
    capacity_range: { required_bytes: 2 ** 28 },
    volume_capabilities: [capability],
  };
  const { volume } = await controller.controller.CreateVolume(request);
  const named = { volume_id: volume?.volume_id ?? '', volume_capability: capability };
  const { publish_context } = await controller.controller.ControllerPublishVolume({
    ...named,
    node_id: dev.nodeId,
  });
  const staged = { ...named, publish_context, staging_target_path: staging };
  await node.node.NodeStageVolume(staged);
  await node.node.NodePublishVolume({ ...staged, target_path: target });
  return named.volume_id;
}

async function removeVolume(
  { dev, controller, node }: OpenDev,
  volumeId: string,
  { staging, target }: Paths,
): Promise<void> {
  await node.node.NodeUnpublishVolume({ volume_id: volumeId, target_path: target });
  await node.node.NodeUnstageVolume({ volume_id: volumeId, staging_target_path: staging });
  await controller.controller.ControllerUnpublishVolume({ volume_id: volumeId, node_id: dev.nodeId });
  await controller.controller.DeleteVolume({ volume_id: volumeId });
}
