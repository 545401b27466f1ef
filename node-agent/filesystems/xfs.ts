import type { FormatOptions } from '../../src/api/filesystems.ts';
import { mkfsArgs, type Filesystem } from '../filesystem.ts';

/** Default features of newer versions of mkfs.xfs that the oldest supported kernel does not know, by option. */
const newerFeatures = {
  '-m': ['rmapbt', 'bigtime', 'inobtcount', 'metadir'],
  '-i': ['nrext64', 'exchange'],
  '-n': ['parent'],
} as const;

/** XFS with the features of the oldest supported kernel, independent of the defaults of mkfs.xfs. */
export const xfs: Filesystem = {
  name: 'xfs',
  // Without a device, mkfs.xfs prints its usage and writes nothing.
  features: { command: 'mkfs.xfs', args: [] },
  make: (device, options = {}, known = '') => ({
    command: 'mkfs.xfs',
    args: ['-q', '-K', ...optionArgs(options, known), '--', device.path],
  }),
  // A clone or a restored snapshot has its source's UUID and must be mountable beside it.
  mountOptions: ['nouuid'],
  // The superblock has no mark of a dirty log; only the log itself tells.
  journal: {
    inspect: device => ({ command: 'xfs_logprint', args: ['-t', '--', device] }),
    needsReplay(output) {
      const state = /^ *log tail: .* state: <(CLEAN|DIRTY)>$/m.exec(output)?.[1];
      return state === undefined ? undefined : state === 'DIRTY';
    },
  },
  // A freeze releases the filesystem's reserved blocks, and a thaw reserves them again.
  freezing: {
    inspect: ({ path }) => ({ command: 'xfs_io', args: ['-r', '-x', '-c', 'resblks', path] }),
    isFrozen(output) {
      const reserved = /^reserved blocks = (\d+)$/m.exec(output)?.[1];
      return reserved === undefined ? undefined : reserved === '0';
    },
  },
  growMounted: ({ path }) => ({ command: 'xfs_growfs', args: ['-d', '--', path] }),
  damage: {
    look: device => ({ command: 'xfs_repair', args: ['-n', '--', device] }),
    // xfs_repair -n does not replay the log, which after a crash holds changes that the rest lacks.
    undecided: /valuable metadata changes in a log/,
    repair: 'xfs_repair',
  },
};

function optionArgs(options: FormatOptions, known: string): readonly string[] {
  const off = (option: keyof typeof newerFeatures): readonly string[] =>
    newerFeatures[option].filter(feature => known.includes(`${feature}=`)).map(feature => `${feature}=0`);
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
