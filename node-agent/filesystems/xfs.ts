import type { FormatOptions } from '../../src/api/filesystems.ts';
import { mkfsArgs, plainFlags, type Filesystem } from '../filesystem.ts';

/** What newer versions of mkfs.xfs turn on by themselves and the oldest supported kernel does not know, by option. */
const newer = {
  '-m': ['rmapbt', 'bigtime', 'inobtcount', 'metadir'],
  '-i': ['nrext64', 'exchange'],
  '-n': ['parent'],
} as const;

/** The XFS filesystem, with the features of the oldest supported kernel whatever the defaults of mkfs.xfs are. */
export const xfs: Filesystem = {
  name: 'xfs',
  // Without a device it says how it is used, and writes nothing.
  features: { command: 'mkfs.xfs', args: [] },
  make: (device, options = {}, known = '') => ({
    command: 'mkfs.xfs',
    args: ['-q', '-K', ...optionArgs(options, known), '--', device],
  }),
  minimumBytes: 300 * 1024 * 1024,
  // A clone or a restored snapshot has its source's UUID and must mount beside it.
  mountOptions: ['nouuid'],
  readonlyOptions: ['norecovery'],
  allowedFlags: {
    ...plainFlags('nouuid', 'discard', 'nodiscard', 'inode32', 'inode64', 'largeio', 'nolargeio', 'noalign'),
    ...plainFlags('swalloc', 'filestreams', 'wsync'),
    ...plainFlags('uquota', 'gquota', 'pquota', 'usrquota', 'grpquota', 'prjquota'),
    allocsize: /^\d{1,9}[kmg]?$/,
    logbsize: /^\d{1,6}k?$/,
    logbufs: /^\d$/,
    sunit: /^\d{1,6}$/,
    swidth: /^\d{1,6}$/,
  },
  growMounted: ({ path }) => ({ command: 'xfs_growfs', args: ['-d', '--', path] }),
  damage: {
    look: device => ({ command: 'xfs_repair', args: ['-n', '--', device] }),
    // It does not replay the log, which after a crash holds what the rest lacks.
    undecided: /valuable metadata changes in a log/,
    repair: 'xfs_repair',
  },
};

function optionArgs(options: FormatOptions, known: string): readonly string[] {
  const off = (option: keyof typeof newer): readonly string[] =>
    newer[option].filter(feature => known.includes(`${feature}=`)).map(feature => `${feature}=0`);
  const naming = off('-n');
  return [
    '-m',
    ['crc=1', 'finobt=1', 'reflink=1', ...off('-m')].join(','),
    '-i',
    ['sparse=1', ...off('-i')].join(','),
    ...(naming.length > 0 ? ['-n', naming.join(',')] : []),
    ...mkfsArgs(options, {
      'fs.blockSize': value => ['-b', `size=${value}`],
      'fs.inodeSize': value => ['-i', `size=${value}`],
      'fs.label': value => ['-L', value],
    }),
  ];
}
