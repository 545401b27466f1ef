import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { closeSync, linkSync, mkdirSync, openSync, renameSync, truncateSync, writeSync } from 'node:fs';
import { test } from 'node:test';
import { loop } from '../../../../node-agent/connectors/loop.ts';
import { ensureFilesystem } from '../../../../node-agent/format/format.ts';
import { MiB, openNode, openRealBench, real } from '../../../harness/node.ts';

const sizeBytes = 64 * MiB;

/** The filesystems of pools whose block counts the agent trusts, with the arguments of their mkfs. */
const pools: Readonly<Record<string, readonly string[]>> = {
  ext4: ['-q', '-O', 'inline_data', '-I', '256'],
  xfs: ['-q', '-m', 'reflink=1'],
  btrfs: ['-q'],
};

/** The ways in which a file, or its loop device, gets data or space. `data`: it is not blank afterwards. */
const contents: readonly {
  readonly name: string;
  readonly data: boolean;
  readonly fill: (path: string) => void;
  readonly on?: readonly string[];
  readonly through?: 'device';
}[] = [
  { name: 'data that is not allocated yet', data: true, fill: path => write(path, MiB, 4096) },
  { name: 'one byte that is not allocated yet', data: true, fill: path => write(path, 3 * MiB + 17, 1) },
  { name: 'data in its inode', data: true, fill: writeInline, on: ['ext4', 'btrfs'] },
  { name: 'synced data in its inode', data: true, fill: syncInline, on: ['ext4', 'btrfs'] },
  { name: 'data in reserved space', data: true, fill: writeReserved },
  { name: 'reserved space', data: false, fill: reserve },
  { name: 'the data of another file', data: true, fill: shareData, on: ['xfs', 'btrfs'] },
  {
    name: 'data in the page cache of its device',
    data: true,
    fill: path => write(path, MiB, 4096),
    through: 'device',
  },
];

function write(path: string, offset: number, length: number): void {
  const file = openSync(path, 'r+');
  writeSync(file, Buffer.alloc(length, 'x'), 0, length, offset);
  closeSync(file);
}

function writeInline(path: string): void {
  truncateSync(path, 0);
  write(path, 0, 20);
  truncateSync(path, sizeBytes);
}

function syncInline(path: string): void {
  truncateSync(path, 0);
  write(path, 0, 20);
  execFileSync('sync', [path]);
  truncateSync(path, sizeBytes);
}

function reserve(path: string): void {
  execFileSync('fallocate', ['--length', String(sizeBytes), path]);
}

function writeReserved(path: string): void {
  reserve(path);
  write(path, MiB, 4096);
}

function shareData(path: string): void {
  const source = `${path}-source`;
  write(closed(source), 0, 4096);
  truncateSync(source, sizeBytes);
  execFileSync('cp', ['--reflink=always', source, path]);
}

/** Makes an empty file and returns its path. */
function closed(path: string): string {
  closeSync(openSync(path, 'w'));
  return path;
}

for (const [type, args] of Object.entries(pools)) {
  const openPool = async (t: Parameters<typeof openRealBench>[0]) => {
    const bench = openRealBench(t);
    const disk = bench.makeImage('disk', { sizeBytes: 512 * MiB });
    execFileSync(`mkfs.${type}`, [...args, disk]);
    mkdirSync(`${bench.directory}/pool`);
    execFileSync('mount', ['-o', 'loop', disk, `${bench.directory}/pool`]);
    const makeImage: typeof bench.makeImage = (name, image) => bench.makeImage(`pool/${name}`, image);
    return openNode({ ...bench, makeImage }, { image: { sizeBytes } });
  };

  test(`a new file on ${type} is blank without being read`, real(`mkfs.${type}`), async t => {
    const { bench, request } = await openPool(t);
    const device = await loop.connect(request.attachment, bench.host);
    assert.equal(await loop.isUnwritten?.(request.attachment, device, bench.host), true);
    await loop.disconnect(request.attachment, bench.host);
  });

  for (const { name, data, fill, on = [type], through } of contents)
    if (on.includes(type))
      test(`a file on ${type} with ${name} is read before it is formatted`, real(`mkfs.${type}`), async t => {
        const { bench, agent, request } = await openPool(t);
        const { attachment } = request;
        if (through === undefined) fill(attachment.path);
        const device = await loop.connect(attachment, bench.host);
        // The kernel would write the page cache back when the last user closes the device.
        const held = openSync(device.path, 'r');
        if (through === 'device') fill(device.path);
        assert.equal(await loop.isUnwritten?.(attachment, device, bench.host), false);
        closeSync(held);
        const marked = new Error('mkfs was about to start');
        const records = { ...agent.records, put: () => Promise.reject(marked) };
        const volume = { agent: { ...agent, records }, record: { ...request, targets: [] }, connector: loop };
        const ensured = ensureFilesystem(volume, { device, isNew: false });
        await assert.rejects(ensured, data ? { code: 'FAILED_PRECONDITION' } : marked);
        await loop.disconnect(attachment, bench.host);
      });

  test(`a file on ${type} says nothing about the device of another file`, real(`mkfs.${type}`), async t => {
    const { bench, request } = await openPool(t);
    const { attachment } = request;
    write(attachment.path, 0, 4096);
    const device = await loop.connect(attachment, bench.host);
    linkSync(attachment.path, `${attachment.path}-kept`);
    renameSync(bench.makeImage('empty', { sizeBytes }), attachment.path);
    assert.equal(await loop.isUnwritten?.(attachment, device, bench.host), false);
    renameSync(`${attachment.path}-kept`, attachment.path);
    await loop.disconnect(attachment, bench.host);
  });
}

test('a file on tmpfs is always read, since only its content tells', real(), async t => {
  const bench = openRealBench(t);
  mkdirSync(`${bench.directory}/pool`);
  execFileSync('mount', ['-t', 'tmpfs', 'none', `${bench.directory}/pool`]);
  const makeImage: typeof bench.makeImage = (name, image) => bench.makeImage(`pool/${name}`, image);
  const { request } = await openNode({ ...bench, makeImage }, { image: { sizeBytes } });
  const device = await loop.connect(request.attachment, bench.host);
  assert.equal(await loop.isUnwritten?.(request.attachment, device, bench.host), false);
  await loop.disconnect(request.attachment, bench.host);
});
