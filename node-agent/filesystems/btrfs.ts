import type { FormatOptions } from '../../src/api/filesystems.ts';
import { mkfsArgs, plainFlags, type Filesystem } from '../filesystem.ts';

const leastGrownBytes = 256 * 1024 * 1024;

/** What every new one has, where its mkfs lets it be named; versions before 6.3 have free-space-tree without a name. */
const usual = ['extref', 'skinny-metadata', 'no-holes', 'free-space-tree'];

/** btrfs with the features of the oldest supported kernel; one before 6.7 mounts no clone beside its source of one UUID. */
export const btrfs: Filesystem = {
  name: 'btrfs',
  features: { command: 'mkfs.btrfs', args: ['--features', 'list-all'] },
  make: (device, options = {}, known = '') => ({
    command: 'mkfs.btrfs',
    args: ['-q', '-K', ...optionArgs(options, known), '--', device],
  }),
  // A smaller one could be made, and never be grown a little.
  minimumBytes: leastGrownBytes,
  leastGrownBytes,
  mountOptions: [],
  readonlyOptions: ['rescue=nologreplay'],
  // `subvol` and `device` are missing on purpose: they would mount something else than the whole of this volume.
  allowedFlags: {
    ...plainFlags('nodiscard', 'ssd', 'nossd', 'ssd_spread', 'autodefrag', 'noautodefrag', 'flushoncommit'),
    ...plainFlags('datacow', 'nodatacow', 'datasum', 'nodatasum', 'skip_balance', 'user_subvol_rm_allowed'),
    compress: /^(|no|none|zlib(:\d)?|lzo|zstd(:\d{1,2})?)$/,
    'compress-force': /^(zlib(:\d)?|lzo|zstd(:\d{1,2})?)$/,
    discard: /^(|sync|async)$/,
    space_cache: /^(|v1|v2)$/,
    commit: /^\d{1,5}$/,
    max_inline: /^\d{1,6}k?$/,
    thread_pool: /^\d{1,3}$/,
  },
  // `btrfs filesystem resize` takes no `--`; both operands are known not to start with a dash.
  growMounted: ({ path }) => ({ command: 'btrfs', args: ['filesystem', 'resize', 'max', path] }),
  damage: {
    look: device => ({ command: 'btrfs', args: ['check', '--readonly', '--', device] }),
    repair: 'btrfs rescue, btrfs check',
  },
  twinDirectory: uuid => `/sys/fs/btrfs/${uuid}`,
};

function optionArgs(options: FormatOptions, known: string): readonly string[] {
  const features = featuresFor(known);
  return [
    ...mkfsArgs(options, {
      'fs.nodeSize': value => ['--nodesize', value],
      'fs.checksum': value => ['--checksum', value],
      'fs.label': value => ['--label', value],
    }),
    ...(features.length > 0 ? ['--features', features.join(',')] : []),
  ];
}

/** The usual ones on, and off what this mkfs turns on by itself beside them. */
function featuresFor(known: string): readonly string[] {
  // A line is a name, a dash, what it is, and since which versions: "name - text (compat=5.1, safe=5.2, default=5.3)".
  const lines = known.split('\n').map(line => ({
    name: /^(\S+) +- /.exec(line)?.[1] ?? '',
    isDefault: line.includes('default='),
  }));
  const wanted = usual.filter(name => lines.some(line => line.name === name));
  const unwanted = lines.filter(({ name, isDefault }) => isDefault && !wanted.includes(name));
  return [...wanted, ...unwanted.map(({ name }) => `^${name}`)];
}
