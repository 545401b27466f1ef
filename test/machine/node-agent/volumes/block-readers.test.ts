import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { Agent } from '../../../../node-agent/volumes/agent.ts';
import { deviceNumberOf } from '../../../../node-agent/host/mount.ts';
import { createReadings } from '../../../../node-agent/host/readings.ts';
import { examine } from '../../../../node-agent/volumes/health.ts';
import { publish, unpublish } from '../../../../node-agent/volumes/publish.ts';
import { expand } from '../../../../node-agent/volumes/size.ts';
import { stage, unstage } from '../../../../node-agent/volumes/stage.ts';
import { topMount } from '../../../../src/lib/linux/mountinfo.ts';
import { inOwnMounts, loopDevicesOf } from '../../../harness/machine.ts';
import {
  block,
  defaultImageBytes,
  measure,
  MiB,
  openNode,
  real,
  startAgent,
  until,
  type LoopRequest,
} from '../../../harness/node.ts';

const capability = { ...block, accessMode: 'SINGLE_NODE_MULTI_WRITER' } as const;
const published = { code: 'FAILED_PRECONDITION', detail: /still published at/ };

/** Opens a staged volume; returns a writer's request, and two readers' requests with their own paths. */
async function openStaged(t: Pick<TestContext, 'after'>) {
  const opened = await openNode(t, { capability });
  const { agent, request } = opened;
  await stage(agent, request);
  const reader = (name: string): LoopRequest => ({
    ...request,
    targetPath: `${request.targetPath}-${name}`,
    readonly: true,
  });
  return { ...opened, writer: request, readers: [reader('one'), reader('two')] as const };
}

/** Returns the name of the device that is bound at a target path. */
async function shownAt(agent: Agent, { targetPath }: LoopRequest): Promise<string> {
  const mount = topMount(await agent.host.mounts(), targetPath);
  assert.ok(mount);
  const number = await deviceNumberOf(mount, agent.host);
  return readFileSync(`/sys/dev/block/${number}/uevent`, 'utf8').match(/DEVNAME=(.+)/)?.[1] ?? '';
}

/** Returns the name of the volume's own device. */
function deviceOf(agent: Agent, { volumeId }: LoopRequest): string {
  return basename(agent.records.get(volumeId)?.device?.path ?? '');
}

/** Lists the loop devices whose file is a device of this machine. */
function viewsOf(name: string): readonly string[] {
  const shown = execFileSync('losetup', ['--list', '--noheadings', '--output', 'NAME,BACK-FILE']).toString();
  return shown.split('\n').filter(line => new RegExp(` /(dev/)?${name}$`).test(line));
}

function writeTo(path: string): void {
  writeFileSync(path, 'x'.repeat(512), { flag: 'r+' });
}

/** Holds a device open through a loop device, as kubelet does. */
function hold(path: string): string {
  return execFileSync('losetup', ['--find', '--show', '--', path]).toString().trim();
}

/** Reads past the page cache, as a reader must while another process writes the device. */
function readFrom(path: string): string {
  const args = [`if=${path}`, 'bs=4096', 'count=1', 'iflag=direct', 'status=none'];
  return execFileSync('dd', args).toString('latin1').slice(0, 5);
}

test("readers of a block volume cannot write to it, and see its writer's data", real(), async t => {
  const { agent, writer, readers } = await openStaged(t);
  for (const request of [readers[0], writer, readers[1]]) await publish(agent, request);
  for (const { targetPath } of readers) {
    assert.throws(() => writeTo(targetPath), { code: 'EPERM' });
    execFileSync('blockdev', ['--setrw', targetPath]);
    assert.throws(() => writeTo(targetPath), { code: 'EPERM' }, 'after an attempt to make it writable');
  }
  for (const text of ['first', 'other']) {
    writeFileSync(writer.targetPath, text, { flag: 'r+', flush: true });
    for (const { targetPath } of readers) assert.equal(readFrom(targetPath), text);
  }
  const device = deviceOf(agent, writer);
  assert.equal(viewsOf(device).length, 2);
  await unpublish(agent, readers[0]);
  assert.equal(viewsOf(device).length, 1);
  assert.equal(readFrom(readers[1].targetPath), 'other');
  await unpublish(agent, writer);
  await assert.rejects(unstage(agent, writer), published);
  await unpublish(agent, readers[1]);
  assert.deepEqual(viewsOf(device), []);
  await unstage(agent, writer);
});

test(
  'a reader keeps its device across a restart of the agent and the loss of its records',
  real(),
  async t => {
    const { agent, bench, writer, readers } = await openStaged(t);
    const [reader, other] = readers;
    await publish(agent, reader);
    const device = deviceOf(agent, writer);
    const shown = await shownAt(agent, reader);
    const restarted = await startAgent(bench);
    await publish(restarted, reader);
    assert.equal(await shownAt(restarted, reader), shown);
    await agent.records.remove(writer.volumeId);
    const forgetful = await startAgent(bench);
    await stage(forgetful, writer);
    await assert.rejects(unstage(forgetful, writer), published);
    await publish(forgetful, other);
    for (const request of readers) await unpublish(forgetful, request);
    await unstage(forgetful, writer);
    assert.deepEqual(loopDevicesOf(bench.directory), []);
    assert.deepEqual(viewsOf(device), []);
  },
);

test('unpublish without a record removes the device of a reader', real(), async t => {
  const { agent, bench, writer, readers } = await openStaged(t);
  const [reader] = readers;
  await publish(agent, reader);
  const device = deviceOf(agent, writer);
  await agent.records.remove(writer.volumeId);
  const forgetful = await startAgent(bench);
  await unpublish(forgetful, reader);
  assert.equal(existsSync(reader.targetPath), false);
  assert.deepEqual(viewsOf(device), []);
  await stage(forgetful, writer);
  await unstage(forgetful, writer);
});

test('a view that is still open prevents unpublish and unstage of its volume', real(), async t => {
  const { agent, bench, writer, readers } = await openStaged(t);
  const [reader] = readers;
  await publish(agent, reader);
  const device = deviceOf(agent, writer);
  const view = await shownAt(agent, reader);
  const user = openSync(`/dev/${view}`, 'r');
  t.after(() => existsSync(`/proc/self/fd/${user}`) && closeSync(user));
  const open = { code: 'UNAVAILABLE', detail: new RegExp(`"/dev/${view}" still exists`) };
  await assert.rejects(unpublish(agent, reader), open);
  await assert.rejects(unpublish(await startAgent(bench), reader), open, 'after a restart');
  await agent.records.remove(writer.volumeId);
  const forgetful = await startAgent(bench);
  await stage(forgetful, writer);
  await assert.rejects(unstage(forgetful, writer), open, 'without the record of the view');
  closeSync(user);
  await until(() => viewsOf(device).length === 0);
  await unpublish(forgetful, reader);
  await unstage(forgetful, writer);
});

test(
  "a reader's device grows with its volume, has its size, and is measured and examined",
  real(),
  async t => {
    const { agent, bench, request, readers } = await openStaged(t);
    const [reader] = readers;
    await publish(agent, reader);
    const sizeBytes = defaultImageBytes + 64 * MiB;
    bench.resizeImage(request.attachment.path, sizeBytes);
    const { volumeId } = request;
    const at = { volumeId, path: reader.targetPath };
    assert.equal(await expand(agent, { ...at, requiredBytes: sizeBytes, limitBytes: 0 }), sizeBytes);
    const seen = execFileSync('blockdev', ['--getsize64', reader.targetPath]).toString().trim();
    assert.equal(Number(seen), sizeBytes);
    assert.deepEqual(await measure(agent, at), { bytes: { total: sizeBytes } });
    const where = { volumeId, publishPath: reader.targetPath, stagingPath: request.stagingPath };
    assert.deepEqual(await examine(agent, createReadings(agent), where), []);
    await unpublish(agent, reader);
    await unstage(agent, request);
  },
);

test("a block volume's reader with one path excludes every other reader from that path", real(), async t => {
  const { agent, request } = await openNode(t, { capability: block });
  await stage(agent, request);
  const reader = { ...request, readonly: true };
  await publish(agent, reader);
  const other = { ...request, targetPath: `${request.targetPath}-2` };
  for (const readonly of [true, false])
    await assert.rejects(publish(agent, { ...other, readonly }), {
      code: 'FAILED_PRECONDITION',
      detail: /SINGLE_NODE_WRITER allows one path/,
    });
  await assert.rejects(publish(agent, request), { code: 'ALREADY_EXISTS' });
  await unpublish(agent, reader);
  await publish(agent, request);
  writeTo(request.targetPath);
  await unpublish(agent, request);
  await unstage(agent, request);
});

test('a view that was made in a mount namespace that is gone is known and removed', real(), async t => {
  const { agent, bench, writer, readers } = await openStaged(t);
  const device = deviceOf(agent, writer);
  const [unshare = '', ...apart] = inOwnMounts(bench.directory, ['--propagation', 'private']);
  const script = 'losetup --find --show --read-only --direct-io=on -- "$0"';
  const view = execFileSync(unshare, [...apart, 'sh', '-c', script, `/dev/${device}`])
    .toString()
    .trim();
  const [reader] = readers;
  writeFileSync(reader.targetPath, '');
  execFileSync('mount', ['--bind', '--options', 'ro', '--', view, reader.targetPath]);
  await publish(agent, reader);
  await assert.rejects(unstage(agent, writer), published);
  await unpublish(agent, reader);
  assert.deepEqual(viewsOf(device), []);
  await unstage(agent, writer);
});

test('a view that a crash left unbound is removed with its volume', real(), async t => {
  const { agent, bench, writer } = await openStaged(t);
  const device = deviceOf(agent, writer);
  execFileSync('losetup', ['--find', '--read-only', '--', `/dev/${device}`]);
  await unstage(await startAgent(bench), writer);
  assert.deepEqual(viewsOf(device), []);
  assert.deepEqual(loopDevicesOf(bench.directory), []);
});

test("kubelet's own loop device over a reader's device is left to kubelet", real(), async t => {
  const { agent, writer, readers } = await openStaged(t);
  await publish(agent, readers[0]);
  await publish(agent, writer);
  const held = [hold(writer.targetPath), hold(readers[0].targetPath)];
  t.after(() =>
    held.forEach(
      path => existsSync(`/sys/block${path.slice(4)}/loop`) && execFileSync('losetup', ['--detach', path]),
    ),
  );
  await publish(agent, readers[1]);
  await unpublish(agent, readers[1]);
  for (const path of held) assert.ok(existsSync(`/sys/block${path.slice('/dev'.length)}/loop`), path);
  for (const path of held.toReversed()) execFileSync('losetup', ['--detach', path]);
  for (const request of [readers[0], writer]) await unpublish(agent, request);
  await unstage(agent, writer);
});
