import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { test, type TestContext } from 'node:test';
import type { AttachedVolume, KnownVolume } from '../../../../gateway/backend.ts';
import { untilAvailable } from '../../../harness/csi-serving.ts';
import { accessOf, hashFile, makePoolDirectory, openPoolWith, serversLeft } from '../../targets/exported.ts';
import { openNbdServer } from '../../targets/nbd-server.ts';
import { MiB, startGuestNode, untilSeen } from '../agent.ts';

const exported = { protocol: 'nbd', address: '127.0.0.1', ports: { from: 10_809, to: 10_820 } };
const block = { block: {}, access_mode: { mode: 'SINGLE_NODE_WRITER' } } as const;

async function open(t: TestContext) {
  execFileSync('modprobe', ['nbd']);
  const pool = await openPoolWith(t, exported, makePoolDirectory(t));
  const node = await startGuestNode(t);
  return {
    pool,
    node,
    /** A volume that a node uses raw. */
    async bringUpRaw(volume: KnownVolume) {
      const access = accessOf('n1', 'block');
      const { attachment } = await pool.attach(volume, access);
      const fields = node.volumeAt({ name: volume.id.slice('c.'.length), attachment, capability: block });
      await untilAvailable(() => node.bringUp(fields));
      return { access, attachment, fields };
    },
  };
}

test('a volume over an nbd-server of its own is written by one node, grows, is read by the next, and leaves nothing', async t => {
  const { pool, node } = await open(t);
  const volume = await pool.makeVolume('c.one', 64);
  for (const nodeId of ['n1', 'n2']) {
    const { attachment } = await pool.attach(volume, accessOf(nodeId));
    const fields = node.volumeAt({ name: 'one', attachment });
    await untilAvailable(() => node.bringUp(fields));
    if (nodeId === 'n1') {
      node.write(fields);
      await pool.backend.expand(volume, { requiredBytes: 128 * MiB, limitBytes: 0 });
      await assert.rejects(node.expand(fields, 128 * MiB), { code: 'FAILED_PRECONDITION' });
    } else {
      assert.equal(node.read(fields), 'data');
      await node.expand(fields, 128 * MiB);
    }
    await node.takeDown(fields);
    for (let count = 0; count < 2; count++) await pool.backend.detach(volume, nodeId, 'c');
    assert.deepEqual(serversLeft(pool.root), []);
  }
});

test('nothing lands of what a node goes on writing after it was detached, though its port is served again', async t => {
  const { pool, node, bringUpRaw } = await open(t);
  const volume = await pool.makeVolume('c.two', 32);
  const { attachment, fields } = await bringUpRaw(volume);
  const line =
    'while :; do dd if=/dev/urandom of="$0" bs=1M count=32 oflag=direct conv=notrunc status=none || exit 7; done';
  const empty = pool.hashOf(volume.id);
  const writer = spawn('sh', ['-c', line, fields.target_path], { stdio: 'ignore', detached: true });
  const ended = once(writer, 'exit');
  while (pool.hashOf(volume.id) === empty);
  await pool.backend.detach(volume, 'n1', 'c');
  const content = pool.hashOf(volume.id);
  assert.deepEqual(serversLeft(pool.root), []);
  // Its requests wait for a server: here is one, but not the volume.
  assert.ok(attachment.protocol === 'nbd');
  const stranger = openNbdServer(t);
  const other = stranger.makeVolume(attachment.export, 32 * MiB);
  assert.equal(other.port, attachment.port);
  await stranger.start();
  await untilSeen(() => hashFile(stranger.pathOf(other)) !== empty);
  process.kill(-Number(writer.pid), 'SIGKILL');
  await ended;
  await node.takeDownHung(fields);
  assert.equal(pool.hashOf(volume.id), content);
});

test('while the machine that exports is away I/O waits, and goes on by itself once it is back', async t => {
  const { pool, node, bringUpRaw } = await open(t);
  const volume = await pool.makeVolume('c.three', 32);
  const { access, fields } = await bringUpRaw(volume);
  execFileSync('pkill', ['--signal', 'KILL', '-x', 'nbd-server']);
  const writing = spawn('dd', [
    'if=/dev/zero',
    `of=${fields.target_path}`,
    'bs=1M',
    'count=4',
    'oflag=direct',
  ]);
  const ended = once(writing, 'exit');
  await pool.reopen();
  await pool.backend.restore?.(recorded({ volume, access }));
  assert.deepEqual(await ended, [0, null]);
  await node.takeDown(fields);
  await pool.backend.restore?.(recorded());
  assert.deepEqual(serversLeft(pool.root), []);
});

async function* recorded(...attached: readonly AttachedVolume[]): AsyncGenerator<AttachedVolume> {
  yield* attached;
}
