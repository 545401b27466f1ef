import type { FormatOptions } from '../../src/api/filesystems.ts';
import type { Filesystem } from '../filesystem.ts';

/** The XFS filesystem, with the features of a 5.4 kernel whatever the newer defaults of mkfs.xfs are. */
export const xfs: Filesystem = {
  name: 'xfs',
  make: (device, options = {}) => ({
    command: 'mkfs.xfs',
    args: ['-q', '-K', ...optionArgs(options), '--', device],
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
};

function optionArgs({
  'fs.blockSize': blockSize,
  'fs.inodeSize': inodeSize,
  'fs.label': label,
  'fs.features': more = '',
}: FormatOptions): readonly string[] {
  const asked = new Set(more.split(','));
  const flag = (feature: string): string => `${feature}=${asked.has(feature) ? 1 : 0}`;
  const metadata = ['crc=1', 'finobt=1', 'reflink=1', ...['rmapbt', 'bigtime', 'inobtcount'].map(flag)];
  const inodes = ['sparse=1', flag('nrext64'), ...(inodeSize === undefined ? [] : [`size=${inodeSize}`])];
  return [
    '-m',
    metadata.join(','),
    '-i',
    inodes.join(','),
    ...(blockSize === undefined ? [] : ['-b', `size=${blockSize}`]),
    ...(label === undefined ? [] : ['-L', label]),
  ];
}
