import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openRecords, type VolumeRecord } from '../../../../node-agent/state/records.ts';
import { requireCarrier } from '../../../../node-agent/volumes/carriers/index.ts';
import { hash } from 'node:crypto';
import { silentLog, type LogFields } from '../../../../src/lib/log.ts';
import { block, openFakeBench, requestFor } from '../../../harness/node.ts';
import { toExport } from '../../../harness/node/shares.ts';

const directory = '/bench/state/volumes';

/** Opens records on a machine of their own, and the log of opening them again. */
async function open() {
  const bench = openFakeBench();
  const { host } = bench;
  const { attachment, capability, stagingPath } = requestFor(bench, '/images/v');
  const recordOf = (volumeId: string): VolumeRecord => ({
    volumeId,
    attachment,
    stagingPath,
    capability: { ...capability, mountFlags: ['noatime'] },
    targets: [{ path: '/pods/v', readonly: true }],
    device: { path: '/dev/loop0', number: '7:0', sizeBytes: 4096, readonly: false, identity: '/images/v' },
    formatting: { attachmentId: 'a', identity: '/images/v', sizeBytes: 4096 },
  });
  const lines: unknown[] = [];
  const log = { ...silentLog, warn: (text: string, fields?: LogFields) => void lines.push([text, fields]) };
  const reopen = () => openRecords(directory, host, { log, requireSound: requireCarrier });
  return { host, records: await reopen(), recordOf, reopen, lines };
}

test('a record is read back as it was written', async () => {
  const { records, recordOf, reopen } = await open();
  await records.put(recordOf('c.v'));
  assert.deepEqual((await reopen()).get('c.v'), recordOf('c.v'));
});

test('a machine crash cuts off only the last note of a record, and it is written again', async () => {
  const { host, records, recordOf, reopen, lines } = await open();
  const connection = { path: '/dev/loop0', number: '7:0', use: 'boot 7' };
  await records.put(recordOf('c.v'));
  await records.noteConnection('c.v', connection);
  assert.deepEqual((await reopen()).get('c.v'), { ...recordOf('c.v'), connection });
  const path = `${directory}/${(await host.list(directory))[0]}`;
  host.state.texts.set(path, (host.state.texts.get(path) ?? '').slice(0, -9));
  const again = await reopen();
  assert.deepEqual(again.get('c.v'), recordOf('c.v'));
  await again.noteConnection('c.v', connection);
  assert.deepEqual((await reopen()).get('c.v')?.connection, connection);
  assert.deepEqual(lines, []);
});

test('a failed note leaves the next one complete', async () => {
  const { host, records, recordOf, reopen } = await open();
  await records.put(recordOf('c.v'));
  const path = `${directory}/${(await host.list(directory))[0]}`;
  host.failAt({ step: 1, when: 'before', how: 'error' });
  await assert.rejects(records.note({ ...recordOf('c.v'), targets: [] }), { code: 'UNAVAILABLE' });
  assert.deepEqual(records.get('c.v'), recordOf('c.v'));
  host.state.texts.set(path, `${host.state.texts.get(path)}{"vers`);
  await records.note({ ...recordOf('c.v'), targets: [] });
  assert.deepEqual((await reopen()).get('c.v')?.targets, []);
});

test('a record does not grow with its notes', async () => {
  const { host, records, recordOf, reopen } = await open();
  await records.put(recordOf('c.v'));
  const last = [{ path: '/pods/last', readonly: true }];
  for (let left = 40; left >= 0; left--)
    await records.note({ ...recordOf('c.v'), targets: left > 0 ? [] : last });
  assert.deepEqual((await reopen()).get('c.v')?.targets, last);
  const path = `${directory}/${(await host.list(directory))[0]}`;
  assert.ok((host.state.texts.get(path) ?? '').split('\n').length < 20);
});

test('ids that look alike, climb, or are long have separate records', async () => {
  const { host, records, recordOf, reopen } = await open();
  const long = 'v'.repeat(127);
  const ids = ['c.v', 'c_v', 'c/v', '../../etc/passwd', '..', 'c.V', `${long}v`, `${long}w`, 'é'];
  for (const id of ids) await records.put(recordOf(id));
  const again = await reopen();
  for (const id of ids) assert.equal(again.get(id)?.volumeId, id);
  assert.equal((await host.list(directory)).length, ids.length);
});

const damages: readonly (readonly [damage: (text: string) => string, fault: string])[] = [
  [() => '', 'it is not JSON'],
  [text => text.slice(0, -9), 'it is not JSON'],
  [() => '[]', 'it has version undefined'],
  [text => text.replace('"version":2', '"version":1'), 'it has version 1'],
  [text => text.replace('"path":"/pods/v"', '"path":"/pods/w"'), 'it does not match its digest'],
  [() => '{"version":2}', 'it does not match its digest'],
  [() => 'null', 'it has version undefined'],
];

for (const [damage, fault] of damages)
  test(`a damaged record is a problem, counted and logged as: ${fault} (${damage})`, async () => {
    const { host, records, recordOf, reopen, lines } = await open();
    await records.put(recordOf('c.v'));
    const path = `${directory}/${(await host.list(directory))[0]}`;
    host.state.texts.set(path, damage(host.state.texts.get(path) ?? ''));
    const again = await reopen();
    assert.throws(() => again.get('c.v'), {
      code: 'FAILED_PRECONDITION',
      message: new RegExp(`is damaged: .*${fault}`),
    });
    assert.equal(again.get('c.other'), undefined);
    assert.equal(again.damagedCount, 1);
    assert.deepEqual(lines, [['the record of a volume is damaged', { path, detail: fault }]]);
  });

const mounted = { accessType: 'mount', accessMode: 'SINGLE_NODE_WRITER' };
const disk = { path: '/dev/sda', number: '8:0', sizeBytes: 1, readonly: false, identity: 'x' };

/** Invalid contents of a file with a correct digest, with their errors. */
const wrongRecords: readonly (readonly [change: object, fault: string])[] = [
  [{ volumeId: 'c.other' }, 'it belongs to another volume'],
  [{ volumeId: 7 }, 'its volumeId is invalid'],
  [{ stagingPath: '/' }, 'its stagingPath is invalid'],
  [{ stagingPath: 'stage/v' }, 'its stagingPath is invalid'],
  [{ stagingPath: '/stage/../../etc' }, 'its stagingPath is invalid'],
  [{ targets: [{ path: '/', readonly: true }] }, 'its targets is invalid'],
  [{ targets: [{ path: '/pods/v' }] }, 'its targets is invalid'],
  [{ targets: undefined }, 'its targets is invalid'],
  [{ capability: { accessType: 'tape', accessMode: 'SINGLE_NODE_WRITER' } }, 'its capability is invalid'],
  [{ capability: { accessType: 'mount', accessMode: 'ANY' } }, 'its capability is invalid'],
  [{ capability: { ...mounted, fsType: 7 } }, 'its capability is invalid'],
  [{ capability: { ...mounted, mountFlags: 'ro' } }, 'its capability is invalid'],
  [{ attachment: null }, 'its attachment is invalid'],
  [{ attachment: { ...toExport('/v'), protocol: 'tape' } }, 'has the unknown protocol "tape"'],
  [
    { attachment: { ...toExport('/v'), protocol: 'nbd' } },
    'nbd is no longer offered: drain and reboot the node, then delete the file',
  ],
  [{ attachment: { ...toExport('/v'), port: 7 } }, 'has the unknown fields "port"'],
  [{ attachment: { ...toExport('/v'), path: undefined } }, 'has no path'],
  [{ attachment: { ...toExport('/v'), sizeBytes: '1' } }, 'its attachment is invalid'],
  [{ attachment: toExport('/v'), capability: block }, 'is a share, which has no block device'],
  [{ device: { path: '/dev/sda' } }, 'its device is invalid'],
  [{ device: { ...disk, sizeBytes: -1 } }, 'its device is invalid'],
  [{ device: { ...disk, number: '7' } }, 'its device is invalid'],
  [{ connection: { path: '/dev/sda', number: '8:0' } }, 'its connection is invalid'],
  [{ formatting: {} }, 'its formatting is invalid'],
  [{ formatOptions: { 'fs.label': 7 } }, 'its formatOptions is invalid'],
  [{ isDown: false }, 'its isDown is invalid'],
  [{ type: 'tape' }, 'its type is invalid'],
];

for (const [change, fault] of wrongRecords)
  test(`a record with impossible values is damaged: ${JSON.stringify(change)}`, async () => {
    const { host, records, recordOf, reopen, lines } = await open();
    await records.put(recordOf('c.v'));
    const path = `${directory}/${(await host.list(directory))[0]}`;
    const record = JSON.parse(JSON.stringify({ ...recordOf('c.v'), ...change })) as object;
    host.state.texts.set(
      path,
      JSON.stringify({ version: 2, digest: hash('sha256', JSON.stringify(record)), record }),
    );
    const again = await reopen();
    assert.throws(() => again.get('c.v'), { code: 'FAILED_PRECONDITION' });
    assert.deepEqual(again.all(), []);
    assert.equal(lines.length, 1);
    assert.ok(JSON.stringify(lines).replaceAll('\\"', '"').includes(fault), JSON.stringify(lines));
  });

test('a draft that a crash left is removed', async () => {
  const { host, reopen } = await open();
  await host.createFile(`${directory}/c_v-0123.json.tmp`);
  await reopen();
  assert.deepEqual(await host.list(directory), []);
});

test('a file or directory that is neither a record nor a draft is logged and left alone', async () => {
  const { host, records, recordOf, reopen, lines } = await open();
  await records.put(recordOf('c.v'));
  for (const name of ['notes.txt', 'c_v-0123.json.bak', '.tmp'])
    await host.createFile(`${directory}/${name}`);
  for (const name of ['e', 'e.json', 'e.json.tmp']) await host.createDirectory(`${directory}/${name}`);
  const names = await host.list(directory);
  const again = await reopen();
  assert.ok(again.get('c.v'));
  assert.deepEqual(await host.list(directory), names);
  assert.equal(again.damagedCount, 0);
  assert.equal(lines.length, 6);
  assert.deepEqual(lines[0], ['this is not a record of a volume', { path: `${directory}/notes.txt` }]);
});

test('a record that cannot be written is an error, and does not count as written', async () => {
  const { host, records, recordOf } = await open();
  host.failAt({ step: 1, when: 'before', how: 'error' });
  await assert.rejects(records.put(recordOf('c.v')), {
    code: 'UNAVAILABLE',
    detail: 'cannot write the record of volume "c.v": it cannot be read or written: its disk reports errors',
  });
  assert.equal(records.get('c.v'), undefined);
});

test('the other records are all volumes that have a device', async () => {
  const { records, recordOf } = await open();
  const { formatting: _, ...plain } = recordOf('c.down');
  records.keep(recordOf('c.one'));
  records.keep({ ...plain, isDown: true });
  records.keep({ ...recordOf('c.half-made'), isDown: true });
  const othersThan = (id: string) => records.othersThan(id).map(({ volumeId }) => volumeId);
  assert.deepEqual(othersThan('c.v'), ['c.one', 'c.half-made']);
  assert.deepEqual(othersThan('c.one'), ['c.half-made']);
});

test('the holder of a path is another volume that has the path now', async () => {
  const { records, recordOf } = await open();
  const stagingPath = '/stage/shared';
  const at = (volumeId: string) => records.holderOf(stagingPath, volumeId);
  assert.equal(at('c.v'), undefined);
  await records.put({ ...recordOf('c.v'), stagingPath });
  assert.deepEqual([at('c.v'), at('c.other')], [undefined, 'c.v']);
  await records.noteTarget('c.v', { path: '/pods/new', readonly: false });
  assert.equal(records.holderOf('/pods/new', 'c.other'), 'c.v');
  records.dropTarget('c.v', '/pods/new');
  assert.equal(records.holderOf('/pods/new', 'c.other'), undefined);
  await records.note({ ...recordOf('c.v'), stagingPath: '/stage/moved' });
  assert.equal(at('c.other'), undefined);
  records.keep({ ...recordOf('c.v'), stagingPath });
  assert.equal(at('c.other'), 'c.v');
  records.keep({ ...recordOf('c.v'), stagingPath, isDown: true });
  assert.equal(at('c.other'), undefined);
  records.keep({ ...recordOf('c.v'), stagingPath });
  await records.remove('c.v');
  assert.equal(at('c.other'), undefined);
});
