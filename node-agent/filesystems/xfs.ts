import type { Filesystem } from '../filesystem.ts';

/** The XFS filesystem, with the features of a 5.4 kernel whatever the newer defaults of mkfs.xfs are. */
export const xfs: Filesystem = {
  name: 'xfs',
  make: device => ({
    command: 'mkfs.xfs',
    args: [
      '-q',
      '-K',
      '-m',
      'crc=1,finobt=1,reflink=1,rmapbt=0,bigtime=0,inobtcount=0',
      '-i',
      'sparse=1,nrext64=0',
      '--',
      device,
    ],
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
