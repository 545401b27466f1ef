import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { AttachmentOf } from '../../../src/api/attachment.ts';
import { surveyProtocols } from '../../../node-agent/connectors/index.ts';
import { iscsi } from '../../../node-agent/connectors/iscsi.ts';
import { createMachine } from '../../../node-agent/host/linux.ts';
import { bringUp, startGuestNode, takeDown, volumeAt } from './agent.ts';
import {
  openStores,
  resizeStore,
  startDaemons,
  startIscsiTarget,
  type Daemons,
  type IscsiTarget,
  type Store,
} from '../targets/scsi-target.ts';

const name = 'iqn.2003-01.org.example:fairlead';
const MiB = 2 ** 20;
const host = createMachine({ timeoutMs: 60_000 });
const capability = { mount: { fs_type: 'ext4' }, access_mode: { mode: 'SINGLE_NODE_WRITER' as const } };

let daemons: Daemons | undefined;
before(async () => (daemons = await startDaemons()));
after(() => daemons?.stop());

type Ways = { readonly portals?: readonly string[]; readonly lun?: number };

function attachmentTo(
  target: IscsiTarget,
  store: Store,
  { portals = target.portals, lun = 0 }: Ways = {},
): AttachmentOf<'iscsi'> {
  const { wwid, serial } = store;
  return {
    protocol: 'iscsi',
    portals,
    target: target.target,
    lun,
    wwid,
    serial,
    attachmentId: `attachment-${serial}`,
    sizeBytes: 64 * MiB,
    readonly: false,
    mayFormat: true,
  };
}

/** The portals that there are sessions with. */
function sessions(): readonly string[] {
  const place = '/sys/class/iscsi_connection';
  return (existsSync(place) ? readdirSync(place) : [])
    .map(entry => readFileSync(`${place}/${entry}/persistent_address`, 'utf8').trim())
    .toSorted();
}

function states(): readonly string[] {
  const place = '/sys/class/iscsi_session';
  return readdirSync(place).map(entry => readFileSync(`${place}/${entry}/state`, 'utf8').trim());
}

/** SCSI disks and multipath maps. */
function disks(): readonly string[] {
  return readdirSync('/sys/block').filter(entry => /^(sd|dm-)/.test(entry));
}

function assertNothingLeft(): void {
  assert.deepEqual(sessions(), []);
  assert.deepEqual(disks(), []);
  const records = '/etc/iscsi/nodes';
  assert.deepEqual(existsSync(records) ? readdirSync(records) : [], []);
}

test('a node with these services says that it reaches volumes over iscsi', async () => {
  const all = await surveyProtocols(host);
  assert.equal(all.find(({ protocol }) => protocol === 'iscsi')?.reason, undefined);
});

test('a volume over two portals is one device, which is written, grows, and leaves no session', async t => {
  const store = openStores(t)('a1', 64 * MiB);
  const target = startIscsiTarget(t, name);
  target.addUnit(0, store);
  const node = await startGuestNode(t);
  const fields = volumeAt(node, { name: 'one', attachment: attachmentTo(target, store), capability });
  await bringUp(node, fields);
  assert.deepEqual(sessions(), ['127.0.0.1', '127.0.0.2']);
  assert.equal(disks().filter(entry => entry.startsWith('dm-')).length, 1);
  writeFileSync(join(fields.target_path, 'file'), 'kept', { flush: true });
  resizeStore(store, 128 * MiB);
  const grown = { ...fields, capacity_range: { required_bytes: 128 * MiB } };
  assert.equal(Number((await node.client.node.NodeExpandVolume(grown)).capacity_bytes), 128 * MiB);
  await takeDown(node, fields);
  assertNothingLeft();
  await bringUp(node, fields);
  assert.equal(readFileSync(join(fields.target_path, 'file'), 'utf8'), 'kept');
  await takeDown(node, fields);
  assertNothingLeft();
});

test('a portal that does not answer is left out, and added by the next connect', async t => {
  const store = openStores(t)('a1', 64 * MiB);
  const target = startIscsiTarget(t, name);
  target.addUnit(0, store);
  const attachment = attachmentTo(target, store);
  target.stop('127.0.0.2:3260');
  const device = await iscsi.connect(attachment, host);
  assert.deepEqual(sessions(), ['127.0.0.1']);
  target.start('127.0.0.2:3260');
  assert.deepEqual(await iscsi.connect(attachment, host), device);
  assert.deepEqual(sessions(), ['127.0.0.1', '127.0.0.2']);
  await iscsi.disconnect(attachment, host);
  assertNothingLeft();
});

test('I/O goes on while one of two portals is gone, and on its path again when it is back', async t => {
  const store = openStores(t)('a1', 256 * MiB);
  const target = startIscsiTarget(t, name);
  target.addUnit(0, store);
  const node = await startGuestNode(t);
  const mount = { mount: { fs_type: 'btrfs' }, access_mode: capability.access_mode };
  const attachment = attachmentTo(target, store);
  const fields = volumeAt(node, { name: 'one', attachment, capability: mount });
  await bringUp(node, fields);
  target.stop('127.0.0.2:3260');
  execFileSync('ss', ['--kill', '--tcp', 'dst', '127.0.0.2', 'dport', '=', ':3260']);
  writeFileSync(join(fields.target_path, 'file'), 'kept', { flush: true });
  target.start('127.0.0.2:3260');
  while (states().some(state => state !== 'LOGGED_IN')) await sleep(100);
  await bringUp(node, fields);
  assert.equal(readFileSync(join(fields.target_path, 'file'), 'utf8'), 'kept');
  await takeDown(node, fields);
  assertNothingLeft();
});

test('a target that is gone keeps nobody from letting go', async t => {
  const store = openStores(t)('a1', 64 * MiB);
  const target = startIscsiTarget(t, name);
  target.addUnit(0, store);
  const attachment = attachmentTo(target, store);
  const { number } = await iscsi.connect(attachment, host);
  for (const portal of target.portals) target.stop(portal);
  execFileSync('ss', ['--kill', '--tcp', 'dport', '=', ':3260']);
  while (states().includes('LOGGED_IN')) await sleep(100);
  assert.equal(await iscsi.owns(attachment, number, host), true);
  await assert.rejects(iscsi.connect(attachment, host), { code: 'UNAVAILABLE' });
  await iscsi.disconnect(attachment, host);
  assertNothingLeft();
});

test('no portal that answers is an error to try again after, and leaves nothing', async t => {
  const store = openStores(t)('a1', 64 * MiB);
  const target = startIscsiTarget(t, name);
  target.addUnit(0, store);
  for (const portal of target.portals) target.stop(portal);
  const attachment = attachmentTo(target, store);
  await assert.rejects(iscsi.connect(attachment, host), { code: 'UNAVAILABLE' });
  await iscsi.disconnect(attachment, host);
  assertNothingLeft();
});

test('over one portal a volume is a plain disk, and read-only in the kernel where it is to be', async t => {
  const store = openStores(t)('a1', 64 * MiB);
  const target = startIscsiTarget(t, name);
  target.addUnit(0, store);
  const attachment = attachmentTo(target, store, { portals: ['127.0.0.1:3260'] });
  const { path, readonly } = await iscsi.connect({ ...attachment, readonly: true }, host);
  assert.match(path, /^\/dev\/sd/);
  assert.equal(readonly, true);
  const args = ['if=/dev/zero', `of=${path}`, 'count=1', 'oflag=direct'];
  assert.throws(() => execFileSync('dd', args, { stdio: 'ignore' }));
  await assert.rejects(iscsi.connect(attachment, host), { code: 'FAILED_PRECONDITION' });
  await iscsi.disconnect(attachment, host);
  assertNothingLeft();
});

test('two units of one target share its sessions until both are let go', async t => {
  const makeStore = openStores(t);
  const target = startIscsiTarget(t, name);
  const node = await startGuestNode(t);
  const [one, two] = ['a1', 'a10'].map((serial, lun) => {
    const store = makeStore(serial, 64 * MiB);
    target.addUnit(lun, store);
    const attachment = attachmentTo(target, store, { portals: ['127.0.0.1:3260'], lun });
    return volumeAt(node, { name: serial, attachment, capability });
  });
  assert.ok(one && two);
  await bringUp(node, one);
  assert.equal(disks().length, 1);
  await bringUp(node, two);
  assert.equal(disks().length, 2);
  assert.deepEqual(sessions(), ['127.0.0.1']);
  writeFileSync(join(one.target_path, 'file'), 'one', { flush: true });
  await takeDown(node, one);
  assert.equal(disks().length, 1);
  assert.deepEqual(sessions(), ['127.0.0.1']);
  assert.ok(!existsSync(join(two.target_path, 'file')));
  writeFileSync(join(two.target_path, 'file'), 'two', { flush: true });
  await takeDown(node, two);
  assertNothingLeft();
  await Promise.all([bringUp(node, one), bringUp(node, two)]);
  assert.equal(readFileSync(join(two.target_path, 'file'), 'utf8'), 'two');
  await Promise.all([takeDown(node, one), takeDown(node, two)]);
  assertNothingLeft();
});

test('a unit that says something else of itself is refused, and a unit that is put in its place is noticed', async t => {
  const makeStore = openStores(t);
  const [first, second] = ['a1', 'a10'].map(serial => makeStore(serial, 64 * MiB));
  assert.ok(first && second);
  const target = startIscsiTarget(t, name);
  target.addUnit(0, second);
  const portals = ['127.0.0.1:3260'];
  await assert.rejects(iscsi.connect(attachmentTo(target, first, { portals }), host), {
    code: 'FAILED_PRECONDITION',
  });
  const attachment = attachmentTo(target, second, { portals });
  const { number } = await iscsi.connect(attachment, host);
  assert.equal(await iscsi.owns(attachment, number, host), true);
  assert.equal(await iscsi.owns(attachmentTo(target, first), number, host), false);
  target.dropUnit(0);
  target.addUnit(0, first);
  await assert.rejects(iscsi.connect(attachment, host));
  assert.equal(await iscsi.owns(attachment, number, host), false);
  await iscsi.disconnect(attachmentTo(target, first, { portals }), host);
  assertNothingLeft();
});
