import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openRecords, type VolumeRecord } from '../../../../node-agent/state/records.ts';
import { silentLog, type LogFields } from '../../../../src/lib/log.ts';
import { openFakeBench } from '../../../harness/node-agent-bench.ts';

const directory = '/bench/state/volumes';

function recordOf(volumeId: string): VolumeRecord {
  return {
    volumeId,
    attachment: {
      protocol: 'loop',
      path: '/images/v',
      attachmentId: 'a',
      sizeBytes: 4096,
      readonly: false,
      mayFormat: true,
    },
    stagingPath: '/stage/v',
    capability: {
      accessType: 'mount',
      accessMode: 'SINGLE_NODE_WRITER',
      fsType: 'ext4',
      mountFlags: ['noatime'],
    },
    targets: [{ path: '/pods/v', readonly: true }],
    device: { path: '/dev/loop0', number: '7:0', sizeBytes: 4096, readonly: false, identity: '/images/v' },
    formatting: { attachmentId: 'a', identity: '/images/v', sizeBytes: 4096 },
  };
}

test('a record is read back as it was written', async () => {
  const { host } = openFakeBench();
  const record = recordOf('c.v');
  await (await openRecords(directory, host)).put(record);
  assert.deepEqual((await openRecords(directory, host)).get('c.v'), record);
});

test('ids that look alike, climb, or are long have records of their own', async () => {
  const { host } = openFakeBench();
  const records = await openRecords(directory, host);
  const ids = [
    'c.v',
    'c_v',
    'c/v',
    '../../etc/passwd',
    '..',
    'c.V',
    'v'.repeat(128),
    `${'v'.repeat(127)}w`,
    'é',
  ];
  for (const id of ids) await records.put(recordOf(id));
  const again = await openRecords(directory, host);
  for (const id of ids) assert.equal(again.get(id)?.volumeId, id);
  assert.equal((await host.list(directory)).length, ids.length);
});

const damages: readonly (readonly [damage: (text: string) => string, fault: string])[] = [
  [() => '', 'it is not JSON'],
  [text => text.slice(0, -9), 'it is not JSON'],
  [() => '[]', 'it has version undefined'],
  [text => text.replace('"version":2', '"version":1'), 'it has version 1'],
  [text => text.replace('"path":"/pods/v"', '"path":"/pods/w"'), 'it does not have its digest'],
  [() => '{"version":2}', 'it is not JSON'],
];

for (const [damage, fault] of damages) {
  test(`a damaged record is a problem that says: ${fault} (${damage})`, async () => {
    const { host } = openFakeBench();
    await (await openRecords(directory, host)).put(recordOf('c.v'));
    const path = `${directory}/${(await host.list(directory))[0]}`;
    host.state.texts.set(path, damage(host.state.texts.get(path) ?? ''));
    const records = await openRecords(directory, host);
    assert.throws(() => records.get('c.v'), {
      code: 'FAILED_PRECONDITION',
      message: new RegExp(`is damaged: .*${fault}`),
    });
    assert.equal(records.get('c.other'), undefined);
  });
}

test('a draft that a crash left is removed', async () => {
  const { host } = openFakeBench();
  await openRecords(directory, host);
  await host.makeFile(`${directory}/c_v-0123.json.tmp`);
  await openRecords(directory, host);
  assert.deepEqual(await host.list(directory), []);
});

test('what is neither a record nor a draft of one is told and left as it is, a directory too', async () => {
  const { host } = openFakeBench();
  await (await openRecords(directory, host)).put(recordOf('c.v'));
  for (const name of ['notes.txt', 'c_v-0123.json.bak', '.tmp']) await host.makeFile(`${directory}/${name}`);
  for (const name of ['e', 'e.json', 'e.json.tmp']) await host.makeDirectory(`${directory}/${name}`);
  const names = await host.list(directory);
  const lines: unknown[] = [];
  const log = { ...silentLog, warn: (text: string, fields?: LogFields) => void lines.push([text, fields]) };
  const records = await openRecords(directory, host, log);
  assert.ok(records.get('c.v'));
  assert.deepEqual(await host.list(directory), names);
  assert.equal(records.damagedCount, 0);
  const others = names.filter(name => !name.startsWith('c_v-') || name.endsWith('.bak')).length;
  assert.equal(others, 6);
  assert.equal(lines.length, others);
  assert.deepEqual(lines[0], ['this is no record of a volume', { path: `${directory}/notes.txt` }]);
});

test('each damaged record is one line, and is counted', async () => {
  const { host } = openFakeBench();
  await host.makeDirectory(directory);
  for (const name of ['a.json', 'b.json']) await host.makeFile(`${directory}/${name}`);
  const lines: unknown[] = [];
  const log = { ...silentLog, warn: (text: string, fields?: LogFields) => void lines.push([text, fields]) };
  const records = await openRecords(directory, host, log);
  assert.equal(records.damagedCount, 2);
  assert.deepEqual(lines, [
    ['the record of a volume is damaged', { path: `${directory}/a.json`, detail: 'it is not JSON' }],
    ['the record of a volume is damaged', { path: `${directory}/b.json`, detail: 'it is not JSON' }],
  ]);
});

test('a record that cannot be written says so, and is not taken for written', async () => {
  const { host } = openFakeBench();
  const records = await openRecords(directory, host);
  host.failAt({ step: 1, when: 'before', how: 'error' });
  await assert.rejects(records.put(recordOf('c.v')), {
    code: 'UNAVAILABLE',
    detail: 'cannot write the record of volume "c.v": EIO',
  });
  assert.equal(records.get('c.v'), undefined);
});

test('the others are all volumes that hold on to their device', async () => {
  const { host } = openFakeBench();
  const records = await openRecords(directory, host);
  const { formatting: _, ...plain } = recordOf('c.down');
  for (const record of [recordOf('c.one'), { ...plain, isDown: true } as const]) await records.put(record);
  await records.put({ ...recordOf('c.half-made'), isDown: true });
  const others = records.othersThan('c.v').map(({ volumeId }) => volumeId);
  assert.deepEqual(others, ['c.one', 'c.half-made']);
  assert.deepEqual(
    records.othersThan('c.one').map(({ volumeId }) => volumeId),
    ['c.half-made'],
  );
});
