import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { createMachine } from '../../../node-agent/host/linux.ts';
import { surveyProtocols } from '../../../node-agent/connectors/index.ts';
import { nvmeTcp } from '../../../node-agent/connectors/nvme-tcp.ts';
import { bringUp, startGuestNode, takeDown, volumeAt } from './agent.ts';
import { startNvmeTarget } from '../targets/nvme-target.ts';

const subsystem = 'nqn.2014-08.org.example:fairlead';
const MiB = 2 ** 20;
const host = createMachine({ timeoutMs: 60_000 });
const capability = { mount: { fs_type: 'ext4' }, access_mode: { mode: 'SINGLE_NODE_WRITER' as const } };

/** The addresses that the kernel has controllers for. */
function controllers(): readonly string[] {
  const place = '/sys/class/nvme';
  return (existsSync(place) ? readdirSync(place) : []).map(name =>
    readFileSync(`${place}/${name}/address`, 'utf8').trim(),
  );
}

test('a node with these tools says that it reaches volumes over nbd and nvme-tcp', async () => {
  const all = await surveyProtocols(host);
  const working = new Set(all.filter(({ reason }) => reason === undefined).map(({ protocol }) => protocol));
  for (const protocol of ['nbd', 'nvme-tcp', 'device', 'loop', 'nfs'] as const)
    assert.ok(working.has(protocol), protocol);
});

test('a volume over two addresses is one device, which is written, grows, and leaves no controller', async t => {
  const target = startNvmeTarget(t, subsystem);
  const node = await startGuestNode(t);
  const attachment = target.makeVolume('one', 64 * MiB);
  const fields = volumeAt(node, { name: 'one', attachment, capability });
  await bringUp(node, fields);
  assert.equal(controllers().length, 2);
  writeFileSync(join(fields.target_path, 'file'), 'kept', { flush: true });
  target.resize(attachment, 128 * MiB);
  const grown = { ...fields, capacity_range: { required_bytes: 128 * MiB } };
  assert.equal(Number((await node.client.node.NodeExpandVolume(grown)).capacity_bytes), 128 * MiB);
  await takeDown(node, fields);
  assert.deepEqual(controllers(), []);
  await bringUp(node, fields);
  assert.equal(readFileSync(join(fields.target_path, 'file'), 'utf8'), 'kept');
  await takeDown(node, fields);
});

test('an address that does not answer is left out, and added by the next connect', async t => {
  const target = startNvmeTarget(t, subsystem);
  const attachment = target.makeVolume('one', 64 * MiB);
  const [, second = ''] = target.addresses;
  target.stop(second);
  const device = await nvmeTcp.connect(attachment, host);
  assert.equal(controllers().length, 1);
  target.start(second);
  assert.deepEqual(await nvmeTcp.connect(attachment, host), device);
  assert.equal(controllers().length, 2);
  await nvmeTcp.disconnect(attachment, host);
  assert.deepEqual(controllers(), []);
});

test('I/O goes on while one of two addresses is gone', async t => {
  const target = startNvmeTarget(t, subsystem);
  const node = await startGuestNode(t);
  const fields = volumeAt(node, { name: 'one', attachment: target.makeVolume('one', 64 * MiB), capability });
  await bringUp(node, fields);
  target.stop(target.addresses[0] ?? '');
  writeFileSync(join(fields.target_path, 'file'), 'kept', { flush: true });
  assert.equal(readFileSync(join(fields.target_path, 'file'), 'utf8'), 'kept');
  await takeDown(node, fields);
  assert.deepEqual(controllers(), []);
});

test('a target that is gone keeps nobody from letting go', async t => {
  const target = startNvmeTarget(t, subsystem);
  const attachment = target.makeVolume('one', 64 * MiB);
  const { number } = await nvmeTcp.connect(attachment, host);
  for (const address of target.addresses) target.stop(address);
  assert.equal(await nvmeTcp.owns(attachment, number, host), true);
  await nvmeTcp.disconnect(attachment, host);
  assert.deepEqual(controllers(), []);
});

test('no address that answers is an error to try again after', async t => {
  const target = startNvmeTarget(t, subsystem);
  const attachment = target.makeVolume('one', 64 * MiB);
  for (const address of target.addresses) target.stop(address);
  await assert.rejects(nvmeTcp.connect(attachment, host), { code: 'UNAVAILABLE' });
  await nvmeTcp.disconnect(attachment, host);
  assert.deepEqual(controllers(), []);
});

test('two namespaces of one subsystem share its controllers until both are let go', async t => {
  const target = startNvmeTarget(t, subsystem);
  const node = await startGuestNode(t);
  const [one, ten] = ['vol1', 'vol10'].map(name =>
    volumeAt(node, { name, attachment: target.makeVolume(name, 64 * MiB), capability }),
  );
  assert.ok(one && ten);
  await bringUp(node, one);
  await bringUp(node, ten);
  assert.equal(controllers().length, 2);
  writeFileSync(join(one.target_path, 'file'), 'one', { flush: true });
  await takeDown(node, one);
  assert.equal(controllers().length, 2);
  assert.ok(!existsSync(join(ten.target_path, 'file')));
  writeFileSync(join(ten.target_path, 'file'), 'ten', { flush: true });
  await takeDown(node, ten);
  assert.deepEqual(controllers(), []);
  await Promise.all([bringUp(node, one), bringUp(node, ten)]);
  assert.equal(readFileSync(join(ten.target_path, 'file'), 'utf8'), 'ten');
  await Promise.all([takeDown(node, one), takeDown(node, ten)]);
  assert.deepEqual(controllers(), []);
});

test('a namespace that says something else of itself is not taken', async t => {
  const target = startNvmeTarget(t, subsystem);
  const attachment = target.makeVolume('one', 64 * MiB);
  const other = { ...attachment, wwid: 'uuid.00000000-0000-4000-8000-00000000000f' };
  await assert.rejects(nvmeTcp.connect(other, host), { code: 'UNAVAILABLE' });
  const { number } = await nvmeTcp.connect(attachment, host);
  assert.equal(await nvmeTcp.owns(attachment, number, host), true);
  assert.equal(await nvmeTcp.owns(other, number, host), false);
  await nvmeTcp.disconnect(attachment, host);
});

test('a read-only attachment is read-only in the kernel, and only as long as it is connected', async t => {
  const target = startNvmeTarget(t, subsystem);
  const attachment = target.makeVolume('one', 64 * MiB);
  const { path, readonly } = await nvmeTcp.connect({ ...attachment, readonly: true }, host);
  assert.equal(readonly, true);
  assert.throws(() =>
    execFileSync('dd', ['if=/dev/zero', `of=${path}`, 'count=1', 'oflag=direct'], { stdio: 'ignore' }),
  );
  await nvmeTcp.disconnect({ ...attachment, readonly: true }, host);
  assert.equal((await nvmeTcp.connect(attachment, host)).readonly, false);
  await nvmeTcp.disconnect(attachment, host);
});
