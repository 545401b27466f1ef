import type { FormatOptions } from '../../src/api/filesystems.ts';
import type { Filesystem } from '../filesystem.ts';

const leastGrownBytes = 256 * 1024 * 1024;

/** The btrfs filesystem. Kernels before 6.7 refuse to mount a clone beside its source: both have one UUID. */
export const btrfs: Filesystem = {
  name: 'btrfs',
  make: (device, options = {}) => ({
    command: 'mkfs.btrfs',
    args: ['-q', '-K', ...optionArgs(options), '--', device],
  }),
  // A smaller one could be made, and never be grown a little.
  minimumBytes: leastGrownBytes,
  leastGrownBytes,
  mountOptions: [],
  readonlyOptions: ['rescue=nologreplay'],
  // `subvol` and `device` are missing on purpose: they would mount something else than the whole of this volume.
  allowedFlags: {
    compress: /^(|no|none|zlib(:\d)?|lzo|zstd(:\d{1,2})?)$/,
    'compress-force': /^(zlib(:\d)?|lzo|zstd(:\d{1,2})?)$/,
    discard: /^(|sync|async)$/,
    nodiscard: /^$/,
    ssd: /^$/,
    nossd: /^$/,
    ssd_spread: /^$/,
    autodefrag: /^$/,
    noautodefrag: /^$/,
    space_cache: /^(|v1|v2)$/,
    commit: /^\d{1,5}$/,
    flushoncommit: /^$/,
    max_inline: /^\d{1,6}k?$/,
    thread_pool: /^\d{1,3}$/,
    datacow: /^$/,
    nodatacow: /^$/,
    datasum: /^$/,
    nodatasum: /^$/,
    skip_balance: /^$/,
    user_subvol_rm_allowed: /^$/,
  },
  // btrfs takes no `--`; both operands are known not to start with a dash.
  growMounted: ({ path }) => ({ command: 'btrfs', args: ['filesystem', 'resize', 'max', path] }),
  twinDirectory: uuid => `/sys/fs/btrfs/${uuid}`,
};

function optionArgs({
  'fs.nodeSize': nodeSize,
  'fs.checksum': checksum,
  'fs.label': label,
  'fs.features': features,
}: FormatOptions): readonly string[] {
  return [
    ...(nodeSize === undefined ? [] : ['--nodesize', nodeSize]),
    ...(checksum === undefined ? [] : ['--checksum', checksum]),
    ...(label === undefined ? [] : ['--label', label]),
    ...(features === undefined ? [] : ['--features', features]),
  ];
}
