import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import {
  requireFormatOptions,
  filesystemNames,
  filesystemRules,
  formatOptionsOf,
  type FilesystemName,
} from '../../../src/api/filesystems.ts';

type Row = readonly [FilesystemName | undefined, Record<string, string>, fault?: RegExp];

const rows: readonly Row[] = [
  ['ext4', { 'fs.blockSize': '1024', 'fs.inodeSize': '512', 'fs.bytesPerInode': '1024' }],
  ['ext4', { 'fs.label': 'a.B-c_1' }],
  ['xfs', { 'fs.blockSize': '2048', 'fs.inodeSize': '1024', 'fs.label': 'twelve-chars' }],
  ['btrfs', { 'fs.nodeSize': '65536', 'fs.checksum': 'xxhash' }],
  [undefined, { 'fs.nodeSize': '4096' }],
  [undefined, {}],
  ['xfs', { 'fs.trim': 'weekly' }],
  [undefined, { 'fs.trim': 'hourly' }, /"fs\.trim" for ext4 is not one of off, daily, weekly/],
  ['ext4', { 'fs.blockSize': '512' }, /"fs\.blockSize" for ext4 is not one of 1024, 2048, 4096$/],
  ['ext4', { 'fs.blockSize': '4096 -F' }, /"fs\.blockSize"/],
  ['ext4', { 'fs.bytesPerInode': '1023' }, /"fs\.bytesPerInode" for ext4 is not a whole number from 1024/],
  ['ext4', { 'fs.bytesPerInode': '1e9' }, /"fs\.bytesPerInode"/],
  ['ext4', { 'fs.label': '-Fx' }, /"fs\.label"/],
  ['ext4', { 'fs.label': '' }, /"fs\.label"/],
  ['ext4', { 'fs.label': 'x'.repeat(17) }, /"fs\.label" for ext4 is not a label of at most 16/],
  [
    'ext4',
    { 'fs.nodeSize': '4096' },
    /"fs\.nodeSize" is not known for ext4; there are fs\.trim, fs\.blockSize/,
  ],
  ['xfs', { 'fs.label': 'x'.repeat(13) }, /"fs\.label" for xfs/],
  [
    'xfs',
    { 'fs.label': '-', 'fs.nodeSize': '1', 'fs.inodeSize': '1' },
    /label" for .*nodeSize" is .*inodeSize" for/,
  ],
  ['xfs', { 'fs.blockSize': '1024', 'fs.inodeSize': '1024' }, /inodeSize is more than half of fs\.blockSize/],
  ['ext4', { 'fs.inodeSize': '1024', 'fs.bytesPerInode': '1024' }, /is less than twice fs\.inodeSize/],
  [undefined, { 'fs.colour': 'red' }, /"fs\.colour" is not known for ext4; .* for xfs; .* for btrfs; /],
  [undefined, { 'fs.nodeSize': '4096', 'fs.inodeSize': '512' }, /"fs\.nodeSize" is not known for ext4/],
];

for (const [filesystem, options, detail] of rows)
  test(`${JSON.stringify(options)} is ${detail ? 'refused' : 'accepted'} for ${filesystem ?? 'a filesystem'}`, () => {
    if (!detail) return requireFormatOptions(options, filesystem);
    assert.throws(() => requireFormatOptions(options, filesystem), { code: 'INVALID_ARGUMENT', detail });
  });

test('only names that begin with fs. are options of a filesystem', () => {
  const context = { 'fs.label': 'x', fs: 'y', label: 'z' };
  assert.deepEqual(formatOptionsOf(context), { 'fs.label': 'x' });
});

test('the page on operations names every option of every filesystem', () => {
  const page = readFileSync('docs/nodes.md', 'utf8');
  const keys = new Set(filesystemNames.flatMap(name => Object.keys(filesystemRules[name].options)));
  for (const key of keys) assert.ok(page.includes(`\`${key}\``), key);
});
