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

/** Opens a volume from which a pod has deleted 64 MiB. */
async function openEmptied(t: TestContext, fsType: FilesystemName) {
  const bench = openRealBench(t);
  const lines: string[] = [];
  const { agent: quiet, request } = await openNode(bench, { capability: { fsType } });
  const log = {
    ...quiet.log,
    info: (text: string) => lines.push(text),
    warn: (text: string) => lines.push(text),
  };
  const commands: (readonly string[])[] = [];
  const run: typeof bench.host.run = (command, args, options) => {
    if (command === 'fstrim') commands.push(args);
    return bench.host.run(command, args, options);
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
  const needed = real(`mkfs.${name}`, 'fstrim', 'fsfreeze');

  test(`a trim gives back the blocks of files that were deleted from a ${name}`, needed, async t => {
    const { agent, request, record, lines, allocatedBytes, lock } = await openEmptied(t, name);
    const before = allocatedBytes();
    await trim(agent, lock, record);
    assert.deepEqual(lines, ['trimmed a volume']);
    assert.ok(before - allocatedBytes() >= dataBytes, `${before} bytes before, ${allocatedBytes()} after`);
    await takeDown(agent, request);
  });

  test(`a frozen ${name} is not trimmed`, needed, async t => {
    const { agent, request, record, commands, lock } = await openEmptied(t, name);
    t.after(() => spawnSync('fsfreeze', ['--unfreeze', request.targetPath]));
    execFileSync('fsfreeze', ['--freeze', request.targetPath]);
    await trim(agent, lock, record);
    execFileSync('fsfreeze', ['--unfreeze', request.targetPath]);
    assert.deepEqual(commands, []);
    await takeDown(agent, request);
  });
}

const GiB = 1024 * MiB;

test(
  'a large volume is trimmed in pieces, and other calls run between them',
  real('mkfs.ext4', 'fstrim'),
  async t => {
    const bench = openRealBench(t);
    const { agent, request } = await openNode(bench, { image: { sizeBytes: 70 * GiB } });
    await putUp(agent, request);
    const order: string[] = [];
    const exclusive = { volumeId: request.volumeId, path: request.targetPath };
    const calls: Promise<unknown>[] = [];
    const run: typeof bench.host.run = (command, args, options) => {
      if (command === 'fstrim') {
        order.push(args.slice(1, -2).join(' '));
        calls.push(lock('NodeUnpublishVolume', exclusive, async () => void order.push('call')));
      }
      return bench.host.run(command, args, options);
    };
    const own = { ...agent, host: { ...agent.host, run } };
    const lock = createVolumeLock(own);
    const record = own.records.get(request.volumeId);
    assert.ok(record);
    await trim(own, lock, record);
    await Promise.all(calls);
    const length = `--length ${32 * GiB}`;
    assert.deepEqual(order, [
      `--offset 0 ${length}`,
      'call',
      `--offset ${32 * GiB} ${length}`,
      'call',
      `--offset ${64 * GiB}`,
      'call',
    ]);
    await takeDown(agent, request);
  },
);

test(
  'a filesystem that is smaller than its device is trimmed up to its own end',
  real('mkfs.ext4', 'fstrim', 'losetup'),
  async t => {
    const { agent, request, record, lines, commands, lock } = await openEmptied(t, 'ext4');
    const { path } = request.attachment;
    truncateSync(path, 70 * GiB);
    const device = execFileSync('findmnt', ['--noheadings', '--output', 'SOURCE', record.stagingPath], {
      encoding: 'utf8',
    }).trim();
    execFileSync('losetup', ['--set-capacity', device]);
    await trim(agent, lock, record);
    assert.deepEqual(lines, ['trimmed a volume']);
    assert.deepEqual(
      commands.map(args => args.slice(1, -2).join(' ')),
      ['--offset 0'],
    );
    await takeDown(agent, request);
  },
);
