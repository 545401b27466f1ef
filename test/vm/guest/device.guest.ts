import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { device } from '../../../node-agent/connectors/device.ts';
import { host, MiB, startGuestNode, untilSeen } from './agent.ts';
import { attachmentTo, openBus, openStores, resizeStore } from '../targets/scsi-target.ts';

/** Lists the SCSI disks with an identifier. */
function disks(): readonly string[] {
  return readdirSync('/sys/block').filter(
    name => name.startsWith('sd') && existsSync(`/sys/block/${name}/device/vpd_pg80`),
  );
}

test('a plugged-in disk is found by its serial, written, expanded, and removed', async t => {
  const store = openStores(t)('vol1', 64 * MiB);
  const bus = openBus(t);
  const node = await startGuestNode(t);
  const fields = node.volumeAt({ name: 'one', attachment: attachmentTo(store) });
  bus.addUnit(0, store);
  await node.bringUp(fields);
  node.write(fields);
  resizeStore(store, 128 * MiB);
  await node.expand(fields, 128 * MiB);
  await node.takeDown(fields);
  bus.dropUnit(0);
  bus.addUnit(3, store);
  await node.bringUp(fields);
  assert.equal(node.read(fields), 'data');
  await node.takeDown(fields);
});

test('a disk that is attached again while it is staged is cut off and staged anew', async t => {
  const store = openStores(t)('vol1', 64 * MiB);
  const bus = openBus(t);
  const node = await startGuestNode(t);
  bus.addUnit(0, store);
  await node.requireStagedAnew(node.volumeAt({ name: 'one', attachment: attachmentTo(store) }), () => []);
});

test('stage waits for a disk that is plugged in later', async t => {
  const store = openStores(t)('vol1', 64 * MiB);
  const bus = openBus(t);
  const connecting = device.connect(attachmentTo(store), host);
  bus.addUnit(0, store);
  assert.equal((await connecting).sizeBytes, 64 * MiB);
});

test('vol1 is confused neither with vol10, nor with its own partition, nor with two disks of one serial', async t => {
  const makeStore = openStores(t);
  const [one, ten] = [makeStore('vol1', 64 * MiB), makeStore('vol10', 64 * MiB)];
  const bus = openBus(t);
  bus.addUnit(1, ten);
  await assert.rejects(device.connect(attachmentTo(one), host), { code: 'UNAVAILABLE' });
  bus.addUnit(0, one);
  const first = await device.connect(attachmentTo(one), host);
  const other = await device.connect(attachmentTo(ten), host);
  assert.equal(await device.owns(attachmentTo(one), other.number, host), false);
  execFileSync('addpart', [first.path, '1', '2048', '4096']);
  const name = first.path.slice('/dev/'.length);
  assert.ok(existsSync(`/sys/class/block/${name}1`));
  const partition = readFileSync(`/sys/class/block/${name}1/dev`, 'utf8').trim();
  assert.equal(await device.owns(attachmentTo(one), first.number, host), true);
  assert.equal(await device.owns(attachmentTo(one), partition, host), false);
  execFileSync('delpart', [first.path, '1']);
  const count = disks().length;
  bus.addUnit(2, one);
  await untilSeen(() => disks().length > count);
  await assert.rejects(device.connect(attachmentTo(one), host), { code: 'FAILED_PRECONDITION' });
});
