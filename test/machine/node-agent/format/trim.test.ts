import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { rmSync, statSync, truncateSync } from 'node:fs';
import { test, type TestContext } from 'node:test';
import type { FilesystemName } from '../../../../src/api/filesystems.ts';
import { filesystems } from '../../../../node-agent/filesystems/index.ts';
import { trim } from '../../../../node-agent/format/trim.ts';
import { createVolumeLock } from '../../../../node-agent/volumes/volume-lock.ts';
import { MiB, openNode, openRealBench, putUp, real, takeDown } from '../../../harness/node.ts';

const dataBytes = 64 * MiB;

/** The end of a window that has just begun. */
const windowEnd = (): number => Date.now() + 120_000;

/** Opens a volume from which a pod has deleted 64 MiB. `instead` returns a command to run in place of `fstrim`. */
async function openEmptied(
  t: TestContext,
  fsType: FilesystemName,
  {
    instead = () => undefined,
    sizeBytes = 512 * MiB,
  }: { readonly instead?: () => readonly string[] | undefined; readonly sizeBytes?: number } = {},
) {
  const bench = openRealBench(t);
  const lines: string[] = [];
  const { agent: quiet, request } = await openNode(bench, { image: { sizeBytes }, capability: { fsType } });
  const log = {
    ...quiet.log,
    info: (text: string) => lines.push(text),
    warn: (text: string) => lines.push(text),
  };
  const commands: (readonly string[])[] = [];
  const run: typeof bench.host.run = (command, args, options) => {
    if (command !== 'timeout') return bench.host.run(command, args, options);
    commands.push(args.slice(4));
    const other = instead();
    return bench.host.run(command, other ? [...args.slice(0, 2), '0.5', ...other] : args, options);
  };
  const agent = { ...quiet, log, host: { ...quiet.host, run } };
  await putUp(agent, request);
  const file = `${request.targetPath}/file`;
  execFileSync('dd', ['if=/dev/urandom', `of=${file}`, 'bs=1M', 'count=64', 'conv=fsync', 'status=none']);
  rmSync(file);
  execFileSync('sync', ['--file-system', request.targetPath]);
  const allocatedBytes = (): number => statSync(request.attachment.path).blocks * 512;
  const record = agent.records.get(request.volumeId);
  assert.ok(record);
  return { agent, request, record, lines, commands, allocatedBytes, lock: createVolumeLock(agent) };
}

for (const { name } of filesystems) {
  const needed = real(`mkfs.${name}`, 'fstrim', 'timeout', 'fsfreeze');

  test(`a trim gives back the blocks of files that were deleted from a ${name}`, needed, async t => {
    const { agent, request, record, lines, allocatedBytes, lock } = await openEmptied(t, name);
    const before = allocatedBytes();
    await trim(agent, lock, { record, endMs: windowEnd() });
    assert.deepEqual(lines, ['trimmed a volume']);
    assert.ok(before - allocatedBytes() >= dataBytes, `${before} bytes before, ${allocatedBytes()} after`);
    await takeDown(agent, request);
  });

  test(`a frozen ${name} is not trimmed`, needed, async t => {
    const { agent, request, record, commands, lock } = await openEmptied(t, name);
    t.after(() => spawnSync('fsfreeze', ['--unfreeze', request.targetPath]));
    execFileSync('fsfreeze', ['--freeze', request.targetPath]);
    await trim(agent, lock, { record, endMs: windowEnd() });
    execFileSync('fsfreeze', ['--unfreeze', request.targetPath]);
    assert.deepEqual(commands, []);
    await takeDown(agent, request);
  });
}

const GiB = 1024 * MiB;

test(
  'a large volume is trimmed in pieces, and other calls run between them',
  real('mkfs.ext4', 'fstrim', 'timeout'),
  async t => {
    const bench = openRealBench(t);
    const { agent, request } = await openNode(bench, { image: { sizeBytes: 20 * GiB } });
    await putUp(agent, request);
    const order: string[] = [];
    const exclusive = { volumeId: request.volumeId, path: request.targetPath };
    const calls: Promise<unknown>[] = [];
    const run: typeof bench.host.run = (command, args, options) => {
      if (command === 'timeout') {
        order.push(args.slice(5, -2).join(' '));
        calls.push(lock('NodeUnpublishVolume', exclusive, async () => void order.push('call')));
      }
      return bench.host.run(command, args, options);
    };
    const own = { ...agent, host: { ...agent.host, run } };
    const lock = createVolumeLock(own);
    const record = own.records.get(request.volumeId);
    assert.ok(record);
    await trim(own, lock, { record, endMs: windowEnd() });
    await Promise.all(calls);
    const length = `--length ${8 * GiB}`;
    assert.deepEqual(order, [
      `--offset 0 ${length}`,
      'call',
      `--offset ${8 * GiB} ${length}`,
      'call',
      `--offset ${16 * GiB}`,
      'call',
    ]);
    await takeDown(agent, request);
  },
);

test(
  'a filesystem that is smaller than its device is trimmed up to its own end',
  real('mkfs.ext4', 'fstrim', 'timeout', 'losetup'),
  async t => {
    const { agent, request, record, lines, commands, lock } = await openEmptied(t, 'ext4');
    const { path } = request.attachment;
    truncateSync(path, 20 * GiB);
    const device = execFileSync('findmnt', ['--noheadings', '--output', 'SOURCE', record.stagingPath], {
      encoding: 'utf8',
    }).trim();
    execFileSync('losetup', ['--set-capacity', device]);
    await trim(agent, lock, { record, endMs: windowEnd() });
    assert.deepEqual(lines, ['trimmed a volume']);
    assert.deepEqual(
      commands.map(args => args.slice(1, -2).join(' ')),
      ['--offset 0'],
    );
    await takeDown(agent, request);
  },
);

/** The time between the kill of a trim and the end of its window, in milliseconds. */
const marginMs = 20_000;

const tools = real('mkfs.ext4', 'fstrim', 'timeout');
const tooSlow = ['sleep', '600'];
const stopped = 'the trim of a volume continues in its next window';

for (const [how, slow] of Object.entries({
  'was killed': tooSlow,
  'ended as its time was over': ['sh', '-c', 'exit 124'],
}))
  test(`after a trim that ${how} the next window continues at the same piece`, tools, async t => {
    const { agent, request, record, lines, commands, allocatedBytes, lock } = await openEmptied(t, 'ext4', {
      instead: () => (commands.length === 2 ? slow : undefined),
      sizeBytes: 10 * GiB,
    });
    const before = allocatedBytes();
    await trim(agent, lock, { record, endMs: windowEnd() });
    assert.equal(agent.watch.running(record.volumeId), undefined);
    assert.deepEqual(lines, [stopped]);
    await trim(agent, lock, { record, endMs: windowEnd() });
    assert.deepEqual(lines, [stopped, 'trimmed a volume']);
    assert.deepEqual(
      commands.map(args => args[2]),
      [0, 8 * GiB, 8 * GiB].map(String),
    );
    assert.ok(before - allocatedBytes() >= dataBytes);
    await takeDown(agent, request);
  });

test('a piece that fails is left out, and the next window goes on after it', tools, async t => {
  const { agent, request, record, lines, commands, lock } = await openEmptied(t, 'ext4', {
    instead: () => ([2, 3].includes(commands.length) ? ['false'] : undefined),
    sizeBytes: 20 * GiB,
  });
  for (let window = 0; window < 3; window++) await trim(agent, lock, { record, endMs: windowEnd() });
  assert.deepEqual(
    commands.map(args => Number(args[2]) / GiB),
    [0, 8, 16, 0, 8, 16],
  );
  const failed = 'a piece of a volume was not trimmed; its next window comes in a day or a week';
  assert.deepEqual(lines, [failed, failed, 'trimmed a volume']);
  await takeDown(agent, request);
});

test('a piece that is killed in two windows one after the other gets a warning', tools, async t => {
  const slow = [true, true, false, true];
  const { agent, request, record, lines, lock } = await openEmptied(t, 'ext4', {
    instead: () => (slow.shift() ? tooSlow : undefined),
  });
  for (let window = 0; window < 4; window++) await trim(agent, lock, { record, endMs: windowEnd() });
  const warning =
    'discards of a volume take longer than a window, so no trim reaches its end; use the mount option discard instead of fs.trim';
  assert.deepEqual(lines, [stopped, warning, 'trimmed a volume', stopped]);
  await takeDown(agent, request);
});

test('no piece begins after the stop of the agent', tools, async t => {
  const stop = new AbortController();
  const { agent, request, record, commands, lock } = await openEmptied(t, 'ext4', {
    instead: () => void stop.abort(),
    sizeBytes: 10 * GiB,
  });
  await trim(agent, lock, { record, endMs: windowEnd(), signal: stop.signal });
  assert.equal(commands.length, 1);
  await takeDown(agent, request);
});

test(
  'no trim begins at the end of a window, nor for a volume that was attached again',
  real('mkfs.ext4', 'fstrim', 'timeout'),
  async t => {
    const { agent, request, record, commands, lock } = await openEmptied(t, 'ext4');
    await trim(agent, lock, { record, endMs: Date.now() + marginMs });
    const attachment = { ...record.attachment, attachmentId: 'an older one' };
    await trim(agent, lock, { record: { ...record, attachment }, endMs: windowEnd() });
    assert.deepEqual(commands, []);
    await takeDown(agent, request);
  },
);
