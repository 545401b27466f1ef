import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findFilesystem } from '../../../../node-agent/filesystems/index.ts';
import { stage, unstage } from '../../../../node-agent/volumes/stage.ts';
import {
  findMissing,
  openFakeBench,
  openRealBench,
  requestFor,
  startAgent,
  whyNoMachine,
} from '../../../harness/node-agent-bench.ts';

const lines = [
  {
    name: 'ext4',
    options: {
      'fs.blockSize': '1024',
      'fs.inodeSize': '512',
      'fs.bytesPerInode': '8192',
      'fs.label': 'data',
    },
    args: /^-q -m 0 -E nodiscard -O none,\S+ -b 1024 -I 512 -i 8192 -L data -- \/dev\/x$/,
    show: { command: 'dumpe2fs', args: ['-h'] },
    shows: [/^Filesystem volume name: +data$/m, /^Block size: +1024$/m, /^Inode size:\s+512$/m],
  },
  {
    name: 'xfs',
    options: {
      'fs.blockSize': '2048',
      'fs.inodeSize': '1024',
      'fs.label': 'data',
    },
    args: /^-q -K -m crc=1,finobt=1,reflink=1 -i sparse=1 -b size=2048 -i size=1024 -L data -- \/dev\/x$/,
    show: {
      command: 'xfs_db',
      args: ['-r', '-c', 'sb 0', '-c', 'print blocksize inodesize fname'],
    },
    shows: [/^blocksize = 2048$/m, /^inodesize = 1024$/m, /^fname = "data/m],
  },
  {
    name: 'btrfs',
    options: {
      'fs.nodeSize': '32768',
      'fs.checksum': 'xxhash',
      'fs.label': 'data',
    },
    args: /^-q -K --nodesize 32768 --checksum xxhash --label data -- \/dev\/x$/,
    show: { command: 'btrfs', args: ['inspect-internal', 'dump-super'] },
    shows: [/^nodesize\s+32768$/m, /^csum_type\s+1 \(xxhash64\)$/m, /^label\s+data$/m],
  },
] as const;

for (const { name, options, args, show, shows } of lines) {
  test(`mkfs.${name} is given the options of the volume as arguments`, () => {
    const line = findFilesystem(name)?.make('/dev/x', options);
    assert.equal(line?.command, `mkfs.${name}`);
    assert.match(line?.args.join(' ') ?? '', args);
  });

  const skip = whyNoMachine ?? findMissing([`mkfs.${name}`, show.command]);
  test(`a ${name} is made as its volume asks, and keeps that`, skip ? { skip } : {}, async t => {
    const bench = openRealBench(t);
    const image = bench.makeImage('image');
    const request = requestFor(bench, image);
    const asked = { ...request, capability: { ...request.capability, fsType: name }, formatOptions: options };
    await stage(await startAgent(bench), asked);
    // A second agent knows the volume from its record alone.
    const agent = await startAgent(bench);
    await stage(agent, asked);
    await unstage(agent, asked);
    const { stdout } = await bench.host.run(show.command, [...show.args, '--', image]);
    for (const pattern of shows) assert.match(stdout, pattern);
  });
}

const refused = [
  { change: { formatOptions: { 'fs.blockSize': '3' } }, says: /"fs\.blockSize" for ext4/ },
  { change: { formatOptions: { 'fs.nodeSize': '4096' } }, says: /"fs\.nodeSize" is not known for ext4/ },
  {
    change: {
      formatOptions: { 'fs.label': 'x' },
      capability: { accessType: 'block', accessMode: 'SINGLE_NODE_WRITER' },
    },
    says: /a block volume gets none/,
  },
  {
    // btrfs would take it, but ext4 is what a blank volume gets here.
    change: {
      formatOptions: { 'fs.nodeSize': '4096' },
      capability: { accessType: 'mount', accessMode: 'SINGLE_NODE_WRITER' },
    },
    says: /"fs\.nodeSize" is not known for ext4/,
  },
] as const;

for (const { change, says } of refused) {
  test(`stage with ${JSON.stringify(change).slice(0, 80)} is INVALID_ARGUMENT and leaves nothing`, async () => {
    const bench = openFakeBench();
    const agent = await startAgent(bench);
    const request = { ...requestFor(bench, bench.makeImage('image')), ...change };
    await assert.rejects(stage(agent, request), { code: 'INVALID_ARGUMENT', detail: says });
    const { mounts, loops, texts, formatted } = bench.host.state;
    assert.deepEqual([mounts, [...loops], [...texts], formatted], [[], [], [], []]);
  });
}

test('options that the filesystem on a volume would not take do not keep it from being staged', async () => {
  const bench = openFakeBench();
  const agent = await startAgent(bench);
  const request = requestFor(bench, bench.makeImage('image', { content: 'xfs' }));
  const capability = { accessType: 'mount', accessMode: 'SINGLE_NODE_WRITER' } as const;
  const asked = { ...request, capability, formatOptions: { 'fs.bytesPerInode': '4096' } };
  await stage(agent, asked);
  await unstage(agent, asked);
  assert.deepEqual(bench.host.state.formatted, []);
});
