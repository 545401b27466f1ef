import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FilesystemName } from '../../../../src/api/filesystems.ts';
import { findFilesystem } from '../../../../node-agent/filesystems/index.ts';
import { stage, unstage } from '../../../../node-agent/volumes/stage.ts';
import { findMissing, openRealBench, requestFor, startAgent, whyNoMachine } from '../../../harness/node.ts';

/** The command and format that show a filesystem's features, and the default features, which Linux 5.10 can mount. */
type FeatureDisplay = {
  readonly name: FilesystemName;
  readonly command: string;
  readonly args: readonly string[];
  readonly read: (output: string) => readonly string[];
  readonly features: string;
};

const shown: readonly FeatureDisplay[] = [
  {
    name: 'ext4',
    command: 'dumpe2fs',
    args: ['-h'],
    read: output => /^Filesystem features: +(.+)$/m.exec(output)?.[1]?.trim().split(' ') ?? [],
    features:
      'has_journal ext_attr resize_inode dir_index filetype extent 64bit flex_bg sparse_super ' +
      'large_file huge_file dir_nlink extra_isize metadata_csum',
  },
  {
    name: 'xfs',
    command: 'xfs_db',
    args: ['-r', '-c', 'version'],
    // Version 5 implies ATTR2, which mkfs.xfs 7 does not print.
    read: output =>
      (/= (V5\S+)$/m.exec(output)?.[1]?.split(',') ?? []).filter(feature => feature !== 'ATTR2'),
    features:
      'V5 NLINK DIRV2 ALIGN LOGV2 EXTFLG MOREBITS LAZYSBCOUNT PROJID32BIT CRC FTYPE FINOBT ' +
      'SPARSE_INODES REFLINK',
  },
  {
    name: 'btrfs',
    command: 'btrfs',
    args: ['inspect-internal', 'dump-super'],
    read: output =>
      [...output.matchAll(/^(?:compat|compat_ro|incompat)_flags.*\n((?:\s+\(.*\n|\s+[A-Z].*\n)*)/gm)].flatMap(
        // The kernel adds BIG_METADATA with its first write, which may not happen.
        ([, flags = '']) => flags.match(/(?!BIG_METADATA)\b[A-Z][A-Z0-9_]+/g) ?? [],
      ),
    features: 'FREE_SPACE_TREE FREE_SPACE_TREE_VALID MIXED_BACKREF EXTENDED_IREF SKINNY_METADATA NO_HOLES',
  },
];

for (const { name, command, args, read, features } of shown) {
  const skip = whyNoMachine ?? findMissing([`mkfs.${name}`, command]);
  test(`a ${name} has only features that Linux 5.10 knows`, skip ? { skip } : {}, async t => {
    const bench = openRealBench(t);
    const image = bench.makeImage('image');
    const request = requestFor(bench, image);
    const asked = { ...request, capability: { ...request.capability, fsType: name } };
    const agent = await startAgent(bench);
    await stage(agent, asked);
    await unstage(agent, asked);
    const { stdout } = await bench.host.run(command, [...args, '--', image]);
    assert.deepEqual(read(stdout).toSorted(), features.split(' ').toSorted());
  });
}

const newXfs = `Usage: mkfs.xfs
/* metadata */  [-m crc=0|1,finobt=0|1,rmapbt=0|1,reflink=0|1,
                 inobtcount=0|1,bigtime=0|1,autofsck=xxx,metadir=0|1]
/* inode size */ [-i size=num,sparse=0|1,nrext64=0|1,exchange=0|1]
/* naming */    [-n size=num,ftype=0|1,parent=0|1]]
`;
const oldXfs = `Usage: mkfs.xfs
/* metadata */  [-m crc=0|1,finobt=0|1,rmapbt=0|1,reflink=0|1]
/* inode size */ [-i size=num,sparse=0|1]
/* naming */    [-n size=num,ftype=0|1]
`;
const newBtrfs = `Filesystem features available:
quota               - quotas (compat=3.4)
extref              - more links (compat=3.7, safe=3.12, default=3.12)
skinny-metadata     - smaller metadata (compat=3.10, safe=3.18, default=3.18)
no-holes            - no extents for holes (compat=3.14, safe=4.0, default=5.15)
fst                 - another name of free-space-tree
free-space-tree     - a tree for free space (compat=4.5, safe=4.9, default=5.15)
bgt                 - another name of block-group-tree
block-group-tree    - a tree for block groups (compat=6.1, safe=6.6, default=6.19)
squota              - other quotas (compat=6.7)
`;
const oldBtrfs = `Filesystem features available:
extref              - more links (compat=3.7, safe=3.12, default=3.12)
skinny-metadata     - smaller metadata (compat=3.10, safe=3.18, default=3.18)
no-holes            - no extents for holes (compat=3.14, safe=4.0)
`;

const lines = [
  {
    what: "an xfs by a new mkfs has the mkfs's new features turned off",
    name: 'xfs',
    known: newXfs,
    args: '-m crc=1,finobt=1,reflink=1,rmapbt=0,bigtime=0,inobtcount=0,metadir=0 -i sparse=1,nrext64=0,exchange=0 -n parent=0',
  },
  {
    what: 'an old mkfs.xfs gets no unknown options',
    name: 'xfs',
    known: oldXfs,
    args: '-m crc=1,finobt=1,reflink=1,rmapbt=0 -i sparse=1',
  },
  {
    what: "a btrfs by a new mkfs has the mkfs's new features turned off",
    name: 'btrfs',
    known: newBtrfs,
    args: '--features extref,skinny-metadata,no-holes,free-space-tree,^block-group-tree',
  },
  {
    what: 'an old mkfs.btrfs gets no unknown options',
    name: 'btrfs',
    known: oldBtrfs,
    args: '--features extref,skinny-metadata,no-holes',
  },
] as const;

for (const { what, name, known, args } of lines)
  test(what, () => {
    const line = findFilesystem(name)?.make({ path: '/dev/x', sizeBytes: 2 ** 30 }, {}, known);
    assert.equal(line?.args.join(' '), `-q -K ${args} -- /dev/x`);
  });
