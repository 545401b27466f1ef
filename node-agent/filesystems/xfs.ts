import type { FormatOptions } from '../../src/api/filesystems.ts';
import type { Filesystem } from '../filesystem.ts';

/**
 * What the oldest supported kernel does not know, by option of mkfs.xfs. Newer versions turn it on by themselves, older
 * ones do not take its name.
 */
const newer = {
  '-m': ['rmapbt', 'bigtime', 'inobtcount', 'metadir'],
  '-i': ['nrext64', 'exchange'],
  '-n': ['parent'],
} as const;

/** Who stages a volume waits for two minutes, mostly; a check that takes longer has no result. */
const lookMs = 60_000;

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
    nouuid: /^$/,
    discard: /^$/,
    nodiscard: /^$/,
    allocsize: /^\d{1,9}[kmg]?$/,
    inode32: /^$/,
    inode64: /^$/,
    largeio: /^$/,
    nolargeio: /^$/,
    logbsize: /^\d{1,6}k?$/,
    logbufs: /^\d$/,
    noalign: /^$/,
    swalloc: /^$/,
    filestreams: /^$/,
    sunit: /^\d{1,6}$/,
    swidth: /^\d{1,6}$/,
    wsync: /^$/,
    uquota: /^$/,
    gquota: /^$/,
    pquota: /^$/,
    usrquota: /^$/,
    grpquota: /^$/,
    prjquota: /^$/,
  },
  growMounted: ({ path }) => ({ command: 'xfs_growfs', args: ['-d', '--', path] }),
  damage: {
    look: device => ({ command: 'xfs_repair', args: ['-n', '--', device], timeoutMs: lookMs }),
    // It does not replay the log, which after a crash holds what the rest lacks.
    undecided: /valuable metadata changes in a log/,
    repair: 'xfs_repair',
  },
};

function optionArgs(options: FormatOptions, known: string): readonly string[] {
  const { 'fs.blockSize': blockSize, 'fs.inodeSize': inodeSize, 'fs.label': label } = options;
  const flags = (option: keyof typeof newer): readonly string[] =>
    newer[option].filter(feature => known.includes(`${feature}=`)).map(feature => `${feature}=0`);
  const naming = flags('-n');
  return [
    '-m',
    ['crc=1', 'finobt=1', 'reflink=1', ...flags('-m')].join(','),
    '-i',
    ['sparse=1', ...flags('-i'), ...(inodeSize === undefined ? [] : [`size=${inodeSize}`])].join(','),
    ...(naming.length > 0 ? ['-n', naming.join(',')] : []),
    ...(blockSize === undefined ? [] : ['-b', `size=${blockSize}`]),
    ...(label === undefined ? [] : ['-L', label]),
  ];
}
