import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stage, unstage } from '../../../../node-agent/volumes/stage.ts';
import { block, openFakeBench, openNode, real, startAgent } from '../../../harness/node.ts';

const lines = [
  {
    name: 'ext4',
    options: {
      'fs.blockSize': '1024',
      'fs.inodeSize': '512',
      'fs.bytesPerInode': '8192',
      'fs.label': 'data',
    },
    show: { command: 'dumpe2fs', args: ['-h'] },
    shows: [
      /^Filesystem volume name: +data$/m,
      /^Block size: +1024$/m,
      /^Inode size:\s+512$/m,
      /^Inode count: +40960$/m,
    ],
  },
  {
    name: 'xfs',
    options: {
      'fs.blockSize': '2048',
      'fs.inodeSize': '1024',
      'fs.label': 'data',
    },
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
    show: { command: 'btrfs', args: ['inspect-internal', 'dump-super'] },
    shows: [/^nodesize\s+32768$/m, /^csum_type\s+1 \(xxhash64\)$/m, /^label\s+data$/m],
  },
] as const;

for (const { name, options, show, shows } of lines)
  test(`a ${name} is made with its volume's options`, real(`mkfs.${name}`, show.command), async t => {
    const opened = await openNode(t, { capability: { fsType: name } });
    const request = { ...opened.request, formatOptions: options };
    await stage(opened.agent, request);
    // A second agent knows the volume only from its record.
    const agent = await startAgent(opened.bench);
    await stage(agent, request);
    await unstage(agent, request);
    const { path } = request.attachment;
    const { stdout } = await opened.bench.host.run(show.command, [...show.args, '--', path]);
    for (const pattern of shows) assert.match(stdout, pattern);
  });

const refused = [
  { change: { formatOptions: { 'fs.blockSize': '3' } }, says: /"fs\.blockSize" for ext4/ },
  { change: { formatOptions: { 'fs.nodeSize': '4096' } }, says: /"fs\.nodeSize" is not known for ext4/ },
  {
    change: {
      formatOptions: { 'fs.label': 'x' },
      capability: block,
    },
    says: /a block volume has none/,
  },
] as const;

for (const { change, says } of refused) {
  test(`stage with ${JSON.stringify(change).slice(0, 80)} is INVALID_ARGUMENT and leaves nothing`, async () => {
    const { bench, agent, request } = await openNode(openFakeBench());
    await assert.rejects(stage(agent, { ...request, ...change }), { code: 'INVALID_ARGUMENT', detail: says });
    const { mounts, loops, texts, formatted } = bench.host.state;
    assert.deepEqual([mounts, [...loops], [...texts], formatted], [[], [], [], []]);
  });
}

test('a volume is staged with options that the filesystem on it would not accept', async () => {
  const { bench, agent, request } = await openNode(openFakeBench(), { image: { content: 'xfs' } });
  const capability = { accessType: 'mount', accessMode: 'SINGLE_NODE_WRITER' } as const;
  const asked = { ...request, capability, formatOptions: { 'fs.bytesPerInode': '4096' } };
  await stage(agent, asked);
  await unstage(agent, asked);
  assert.deepEqual(bench.host.state.formatted, []);
});
