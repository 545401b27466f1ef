import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { mountsBelow } from '../../harness/machine.ts';
import { toExport } from '../../harness/node-agent-share-bench.ts';
import { topMount } from '../../../src/lib/linux/mountinfo.ts';
import { bringUp, expand, host, startGuestNode, takeDown, volumeAt } from './agent.ts';
import type { GuestNode, GuestVolume } from './agent.ts';
import { startNfsServer } from '../targets/nfs-server.ts';

const capability = { mount: {}, access_mode: { mode: 'MULTI_NODE_MULTI_WRITER' as const } };

const server = await startNfsServer({ after });

/** Makes a directory on the server and says how nodes reach it as a volume. */
function makeVolume(name: string): GuestVolume {
  mkdirSync(join(server.root, name));
  return { name, attachment: toExport(`/${name}`, server.address), capability };
}

test('two nodes write one share of a real server at the same time, and each reads what the other wrote', async t => {
  const nodes = [await startGuestNode(t), await startGuestNode(t)];
  const volume = makeVolume('shared');
  const targets = nodes.map(node => volumeAt(node, volume).target_path);
  for (const node of nodes) await bringUp(node, volumeAt(node, volume));
  const data = targets.map(() => randomBytes(8 * 2 ** 20));
  for (const [index, target] of targets.entries())
    writeFileSync(join(target, `from-${index}`), data[index] ?? '', { flush: true });
  for (const root of [...targets, join(server.root, 'shared')])
    for (const index of targets.keys()) requireData(join(root, `from-${index}`), data[index]);
  for (const node of nodes) await takeDown(node, volumeAt(node, volume));
  for (const { bench } of nodes) assert.deepEqual(mountsBelow(bench.directory), []);
  requireData(join(server.root, 'shared', 'from-1'), data[1]);
});

test('a share that is read-only, by its attachment or for one pod, cannot be written', async t => {
  const node = await startGuestNode(t);
  const volume = makeVolume('read-only');
  const { attachment } = volume;
  const rows = [
    { ...volume, readonly: true },
    { ...volume, attachment: { ...attachment, attachmentId: 'attachment-2', readonly: true } },
  ];
  for (const row of rows) {
    const fields = volumeAt(node, row);
    await bringUp(node, fields);
    await bringUp(node, fields);
    assert.throws(() => writeFileSync(join(fields.target_path, 'file'), ''), { code: 'EROFS' });
    await takeDown(node, fields);
  }
});

test('the mount flags of a share are those that the kernel has, and its own come after them', async t => {
  const node = await startGuestNode(t);
  const flags = ['vers=4.1', 'softerr', 'timeo=50', 'noac'];
  for (const [mount_flags, shows] of [
    [[] as string[], ['vers=4.2', 'hard']],
    [flags, flags],
  ] as const) {
    const volume = makeVolume(`flags-${mount_flags.length}`);
    const fields = volumeAt(node, { ...volume, capability: { ...capability, mount: { mount_flags } } });
    await bringUp(node, fields);
    const options = topMount(await host.mounts(), fields.target_path)?.superOptions ?? [];
    assert.deepEqual(new Set(shows).difference(new Set(options)), new Set(), options.join());
    await takeDown(node, fields);
  }
});

test('a share reports its capacity, has nothing to grow, and is unhealthy once its directory was removed', async t => {
  const node = await startGuestNode(t);
  const fields = volumeAt(node, makeVolume('measured'));
  await bringUp(node, fields);
  const { usage } = await node.client.node.NodeGetVolumeStats(fields);
  assert.deepEqual(
    usage.map(({ unit, total }) => [unit, Number(total) > 0]),
    [
      ['BYTES', true],
      ['INODES', true],
    ],
  );
  assert.deepEqual(await healthOf(node, fields.volume_id), []);
  await expand(node, fields, 2 ** 30);
  rmSync(join(server.root, 'measured'), { recursive: true });
  assert.deepEqual(await healthOf(node, fields.volume_id), ['INACCESSIBLE ReadFailed']);
  await takeDown(node, fields);
  assert.equal(existsSync(fields.target_path), false);
});

test('a share that cannot be mounted is refused at once, with what mount said, and staged once it can be', async t => {
  const node = await startGuestNode(t);
  const fields = volumeAt(node, {
    name: 'absent',
    attachment: toExport('/absent', server.address),
    capability,
  });
  const assertRefused = async (message: RegExp) => {
    await assert.rejects(node.client.node.NodeStageVolume(fields), { code: 'UNAVAILABLE', message });
    assert.deepEqual(mountsBelow(node.bench.directory), []);
  };
  await assertRefused(/mount\.nfs/);
  mkdirSync(join(server.root, 'absent'));
  server.stop();
  await assertRefused(/Connection refused/);
  server.start();
  await bringUp(node, fields);
  await takeDown(node, fields);
});

test('a file stays open over a restart of the server, and keeps every byte', async t => {
  const node = await startGuestNode(t);
  const fields = volumeAt(node, makeVolume('restarted'));
  await bringUp(node, fields);
  const path = join(fields.target_path, 'file');
  const [first, second] = [randomBytes(2 ** 20), randomBytes(2 ** 20)];
  writeFileSync(path, first);
  server.stop();
  server.start();
  writeFileSync(path, second, { flag: 'a', flush: true });
  await takeDown(node, fields);
  requireData(join(server.root, 'restarted', 'file'), Buffer.concat([first, second]));
});

async function healthOf({ client }: GuestNode, volumeId: string): Promise<readonly string[]> {
  const { volume_health: health } = await client.node.NodeGetVolumeHealth({ volume_id: volumeId });
  return (health?.health_statuses ?? []).map(({ status, reason }) => `${status} ${reason}`);
}

function requireData(path: string, data: Buffer | undefined): void {
  assert.ok(data && readFileSync(path).equals(data), path);
}
