import type { FormatOptions } from '../../src/api/filesystems.ts';
import { minimumBytesOf } from '../../src/api/filesystems/sizes.ts';
import { mkfsArgs, type Filesystem } from '../filesystem.ts';

/** The features of every new filesystem, if mkfs knows their names. Before 6.3 free-space-tree is on but has no name. */
const wantedFeatures = ['extref', 'skinny-metadata', 'no-holes', 'free-space-tree'];

/** btrfs with the features of the oldest supported kernel. Kernels before 6.7 cannot mount a clone beside its source. */
export const btrfs: Filesystem = {
  name: 'btrfs',
  features: { command: 'mkfs.btrfs', args: ['--features', 'list-all'] },
  make: (device, options = {}, known = '') => ({
    command: 'mkfs.btrfs',
    args: ['-q', '-K', ...optionArgs(options, known), '--', device.path],
  }),
  // mkfs makes no smaller filesystem either, so each filesystem can be grown.
  minGrownBytes: minimumBytesOf('btrfs'),
  mountOptions: [],
  journal: {
    inspect: device => ({ command: 'btrfs', args: ['inspect-internal', 'dump-super', '--', device] }),
    needsReplay(output) {
      // The position of the log tree's root, or 0.
      const root = /^log_root\t+(\d+)$/m.exec(output)?.[1];
      return root === undefined ? undefined : root !== '0';
    },
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

/** Turns the wanted features on, and off all other features that this mkfs turns on by default. */
function featuresFor(known: string): readonly string[] {
  // A line has a name, a text and versions: "name - text (compat=5.1, safe=5.2, default=5.3)".
  const lines = known.split('\n').map(line => ({
    name: /^(\S+) +- /.exec(line)?.[1] ?? '',
    isDefault: line.includes('default='),
  }));
  const wanted = wantedFeatures.filter(name => lines.some(line => line.name === name));
  const unwanted = lines.filter(({ name, isDefault }) => isDefault && !wanted.includes(name));
  return [...wanted, ...unwanted.map(({ name }) => `^${name}`)];
}
