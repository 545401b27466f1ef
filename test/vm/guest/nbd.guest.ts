import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { nbd } from '../../../node-agent/connectors/nbd.ts';
import { toPublishContext } from '../../../src/api/attachment.ts';
import { connectCsi } from '../../../src/csi/client.ts';
import { openNode } from '../../harness/agent.ts';
import { host, MiB, startGuestNode, volumesOver, writer } from './agent.ts';
import { openNbdServer } from '../targets/nbd-server.ts';

/** A server with one export, which is not started. */
function open(t: TestContext) {
  const server = openNbdServer(t);
  return { server, attachment: server.makeVolume('one', 64 * MiB) };
}

/** What the kernel is connected to. */
function backends(): readonly string[] {
  return readdirSync('/sys/block')
    .filter(name => name.startsWith('nbd') && existsSync(`/sys/block/${name}/pid`))
    .map(name => readFileSync(`/sys/block/${name}/backend`, 'utf8').trim());
}

test('an export is written, has its new size when it is next staged, and leaves no connection', async t => {
  const { server, attachment } = open(t);
  await server.start();
  const node = await startGuestNode(t);
  const fields = node.volumeAt({ name: 'one', attachment });
  await node.bringUp(fields);
  node.write(fields);
  assert.deepEqual(backends(), ['nbd://127.0.0.1:10809/one']);
  server.resize(attachment, 128 * MiB);
  await assert.rejects(node.expand(fields, 128 * MiB), { code: 'FAILED_PRECONDITION' });
  await node.takeDown(fields);
  assert.deepEqual(backends(), []);
  await node.bringUp(fields);
  assert.equal(node.read(fields), 'data');
  await node.expand(fields, 128 * MiB);
  await node.takeDown(fields);
  assert.deepEqual(backends(), []);
});

test('a server that is lost is an error to try again after, and no obstacle to disconnecting', async t => {
  const { server, attachment } = open(t);
  await assert.rejects(nbd.connect(attachment, host), { code: 'UNAVAILABLE' });
  await server.start();
  const unknown = { ...attachment, export: 'other' };
  await assert.rejects(nbd.connect(unknown, host), { code: 'UNAVAILABLE', detail: /has no such export/ });
  const device = await nbd.connect(attachment, host);
  await server.stop();
  await assert.rejects(nbd.connect(attachment, host), { code: 'UNAVAILABLE' });
  assert.equal(await nbd.owns(attachment, device.number, host), true);
  await nbd.disconnect(attachment, host);
  assert.deepEqual(backends(), []);
});

test('I/O that has lost its server goes on when the volume is connected again', async t => {
  const { server, attachment } = open(t);
  await server.start();
  const { path } = await nbd.connect(attachment, host);
  await server.stop();
  const writing = spawn('dd', ['if=/dev/zero', `of=${path}`, 'bs=1M', 'count=4', 'oflag=direct']);
  const ended = once(writing, 'exit');
  await server.start();
  await nbd.connect(attachment, host);
  assert.deepEqual(await ended, [0, null]);
  await nbd.disconnect(attachment, host);
});

test('what another has connected is left alone', async t => {
  const { server, attachment } = open(t);
  const other = server.makeVolume('two', 64 * MiB);
  await server.start();
  execFileSync('nbd-client', ['-N', other.export, '127.0.0.1', '/dev/nbd0']);
  const { path, number } = await nbd.connect(attachment, host);
  assert.notEqual(path, '/dev/nbd0');
  assert.equal(await nbd.owns(other, readFileSync('/sys/block/nbd0/dev', 'utf8').trim(), host), false);
  assert.equal(await nbd.owns(attachment, number, host), true);
  await nbd.disconnect(other, host);
  await nbd.disconnect(attachment, host);
  assert.ok(existsSync('/sys/block/nbd0/pid'));
  execFileSync('nbd-client', ['-d', '/dev/nbd0']);
});

test('an agent that is killed takes no I/O with it, and the next one brings back what was lost meanwhile', async t => {
  const { server, attachment } = open(t);
  await server.start();
  const node = openNode(t);
  const path = join(node.root, 'pods/one');
  const volume = {
    volume_id: 'c.one',
    publish_context: toPublishContext(attachment),
    staging_target_path: join(node.root, 'pods/staged'),
    target_path: path,
    volume_capability: writer,
  };
  const connect = () => {
    const client = connectCsi(`unix://${node.socket}`);
    t.after(() => client.close());
    return volumesOver(client);
  };
  const first = node.startAgent();
  await first.ready;
  await connect().bringUp(volume);
  await first.end('SIGKILL');
  writeFileSync(join(path, 'before'), 'kept', { flush: true });
  await server.stop();
  const writing = spawn('dd', ['if=/dev/zero', `of=${path}/after`, 'bs=1M', 'count=4', 'conv=fsync']);
  const ended = once(writing, 'exit');
  await server.start();
  await node.startAgent().ready;
  assert.deepEqual(await ended, [0, null]);
  assert.equal(readFileSync(join(path, 'before'), 'utf8'), 'kept');
  await connect().takeDown(volume);
  assert.deepEqual(backends(), []);
});
