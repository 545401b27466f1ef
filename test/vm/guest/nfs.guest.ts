import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { chownSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { poll } from '../../../src/lib/concurrency.ts';
import { mountsBelow } from '../../harness/machine.ts';
import { toExport } from '../../harness/node/shares.ts';
import { topMount } from '../../../src/lib/linux/mountinfo.ts';
import { host, startGuestNode } from './agent.ts';
import type { GuestNode } from './agent.ts';
import type { ServedVolume } from '../../harness/node/served.ts';
import { startNfsServer } from '../targets/nfs-server.ts';

const capability = { mount: {}, access_mode: { mode: 'MULTI_NODE_MULTI_WRITER' as const } };

const server = await startNfsServer({ after });

/** Makes a directory on the server and returns it as a volume. */
function makeVolume(name: string): ServedVolume {
  mkdirSync(join(server.root, name));
  return { name, attachment: toExport(`/${name}`, server.address), capability };
}

test("two nodes write one share of a real server at the same time, and each reads the other's data", async t => {
  const nodes = [await startGuestNode(t), await startGuestNode(t)];
  const volume = makeVolume('shared');
  const targets = nodes.map(node => node.volumeAt(volume).target_path);
  for (const node of nodes) await node.bringUp(node.volumeAt(volume));
  const data = targets.map(() => randomBytes(8 * 2 ** 20));
  for (const [index, target] of targets.entries())
    writeFileSync(join(target, `from-${index}`), data[index] ?? '', { flush: true });
  for (const root of [...targets, join(server.root, 'shared')])
    for (const index of targets.keys()) requireData(join(root, `from-${index}`), data[index]);
  for (const node of nodes) await node.takeDown(node.volumeAt(volume));
  for (const { bench } of nodes) assert.deepEqual(mountsBelow(bench.directory), []);
  requireData(join(server.root, 'shared', 'from-1'), data[1]);
});

test('a share that is attached again while it is staged is mounted anew', async t => {
  const node = await startGuestNode(t);
  const fields = node.volumeAt(makeVolume('again'));
  const again = { ...fields, publish_context: { ...fields.publish_context, attachmentId: 'attachment-2' } };
  const { client, bench } = node;
  await node.bringUp(fields);
  node.write(fields);
  await assert.rejects(client.node.NodeStageVolume(again), { code: 'FAILED_PRECONDITION' });
  await client.node.NodeUnpublishVolume(fields);
  await client.node.NodeStageVolume(again);
  await assert.rejects(client.node.NodePublishVolume(fields), { code: 'FAILED_PRECONDITION' });
  await client.node.NodePublishVolume(again);
  assert.equal(node.read(again), 'data');
  await node.takeDown(again);
  assert.deepEqual(mountsBelow(bench.directory), []);
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
    const fields = node.volumeAt(row);
    await node.bringUp(fields);
    await node.bringUp(fields);
    assert.throws(() => writeFileSync(join(fields.target_path, 'file'), ''), { code: 'EROFS' });
    await node.takeDown(fields);
  }
});

test('a share is mounted with the required flags of the kernel, followed by its own', async t => {
  const node = await startGuestNode(t);
  const flags = ['vers=4.1', 'softerr', 'timeo=50', 'noac'];
  for (const [mount_flags, shows] of [
    [[] as string[], ['vers=4.2', 'hard']],
    [flags, flags],
  ] as const) {
    const volume = makeVolume(`flags-${mount_flags.length}`);
    const fields = node.volumeAt({ ...volume, capability: { ...capability, mount: { mount_flags } } });
    await node.bringUp(fields);
    const options = topMount(await host.mounts(), fields.target_path)?.superOptions ?? [];
    assert.deepEqual(new Set(shows).difference(new Set(options)), new Set(), options.join());
    await node.takeDown(fields);
  }
});

test('a share reports its capacity, ignores expansion, and is unhealthy once its directory is removed', async t => {
  const node = await startGuestNode(t);
  const fields = node.volumeAt(makeVolume('measured'));
  await node.bringUp(fields);
  const usage = await node.usage(fields);
  assert.deepEqual(
    usage.map(({ unit, total }) => [unit, Number(total) > 0]),
    [
      ['BYTES', true],
      ['INODES', true],
    ],
  );
  await untilHealthIs(node, fields.volume_id, []);
  await node.expand(fields, 2 ** 30);
  rmSync(join(server.root, 'measured'), { recursive: true });
  await untilHealthIs(node, fields.volume_id, ['INACCESSIBLE ReadFailed']);
  await node.takeDown(fields);
  assert.equal(existsSync(fields.target_path), false);
});

test('a share whose server maps root to nobody is unhealthy until the user nobody may use it', async t => {
  const node = await startGuestNode(t);
  const fields = node.volumeAt(makeVolume('squashed'));
  server.squashRoot(true);
  t.after(() => server.squashRoot(false));
  await node.bringUp(fields);
  assert.throws(() => writeFileSync(join(fields.target_path, 'file'), ''), { code: 'EACCES' });
  await untilHealthIs(node, fields.volume_id, ['DEGRADED RootRefused']);
  chownSync(join(server.root, 'squashed'), 65_534, 65_534);
  await untilHealthIs(node, fields.volume_id, []);
  writeFileSync(join(fields.target_path, 'file'), '');
  await node.takeDown(fields);
});

test("a share that cannot be mounted is refused at once with mount's message, and staged once it can be mounted", async t => {
  const node = await startGuestNode(t);
  const fields = node.volumeAt({
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
  await node.bringUp(fields);
  await node.takeDown(fields);
});

test('a file stays open across a restart of the server and keeps every byte', async t => {
  const node = await startGuestNode(t);
  const fields = node.volumeAt(makeVolume('restarted'));
  await node.bringUp(fields);
  const path = join(fields.target_path, 'file');
  const [first, second] = [randomBytes(2 ** 20), randomBytes(2 ** 20)];
  writeFileSync(path, first);
  server.stop();
  server.start();
  writeFileSync(path, second, { flag: 'a', flush: true });
  await node.takeDown(fields);
  requireData(join(server.root, 'restarted', 'file'), Buffer.concat([first, second]));
});

/** Polls the health of a volume: on a busy machine a reading may be late, which is reported as hanging. */
async function untilHealthIs(node: GuestNode, volumeId: string, expected: readonly string[]): Promise<void> {
  let health: readonly string[] = [];
  await poll(
    async () => {
      health = await healthOf(node, volumeId);
      return isDeepStrictEqual(health, expected) || undefined;
    },
    { everyMs: 500, timeoutMs: 120_000 },
  );
  assert.deepEqual(health, expected);
}

async function healthOf({ client }: GuestNode, volumeId: string): Promise<readonly string[]> {
  const { volume_health: health } = await client.node.NodeGetVolumeHealth({ volume_id: volumeId });
  return (health?.health_statuses ?? []).map(({ status, reason }) => `${status} ${reason}`);
}

function requireData(path: string, data: Buffer | undefined): void {
  assert.ok(data && readFileSync(path).equals(data), path);
}
