import { startFlags, startVariables } from '../../src/lib/start.ts';

/** Debian packages, and which of their programs the image has; the libraries that these need come along. */
export const programs: Readonly<Record<string, readonly string[]>> = {
  mount: ['mount', 'umount', 'losetup'],
  'util-linux': ['blkid', 'blockdev', 'fallocate', 'findmnt', 'flock', 'lsblk', 'setpriv'],
  e2fsprogs: ['mkfs.ext4', 'dumpe2fs', 'e2fsck', 'filefrag', 'resize2fs'],
  xfsprogs: ['mkfs.xfs', 'xfs_growfs', 'xfs_repair'],
  'btrfs-progs': ['mkfs.btrfs', 'btrfs'],
  'nfs-common': ['mount.nfs'],
  'open-iscsi': ['iscsiadm'],
  'nvme-cli': ['nvme'],
  // What talks to the host's daemon; it is never started here.
  'multipath-tools': ['multipath', 'multipathd'],
  'cryptsetup-bin': ['cryptsetup'],
  dmsetup: ['dmsetup'],
  kmod: ['modprobe'],
  diffutils: ['cmp'],
  grep: ['grep'],
  // `install` is the chart's, the last four are for whoever looks into a container.
  coreutils: words('cat chmod cp dd mkdir realpath rm stat tee test install df env id ls'),
  dash: ['sh'],
};

/** What programs read beside their libraries, by package; a name that ends with a slash is all of a directory. */
export const companions: Readonly<Record<string, readonly string[]>> = {
  'base-files': ['etc/os-release', 'usr/lib/os-release'],
  e2fsprogs: ['etc/mke2fs.conf'],
  'libtirpc-common': ['etc/netconfig'],
  // Loaded by name.
  'multipath-tools': ['usr/lib/multipath/'],
  // Node.js is linked with them.
  libatomic1: [],
  'libstdc++6': [],
};

/** What the packages depend on for scripts and services of theirs; a library that is missed is an error. */
export const unused = /^(perl|libperl|python|libpython|libicu|initramfs|klibc|udev_)/;

/** Where the programs of Fairlead lie in the image; the compile cache holds its own path. */
export const home = 'opt/fairlead';

/** Who runs what needs no rights: the gateway and the controller. The chart runs the node agent as root. */
export const user = 65_532;

/**
 * A cache of compiled code is taken only on the kind of processor that it was made on, as far as V8 was told to use what
 * that can: here it uses what every x86-64-v2 has, so that no node strips types, for 20 to 40 MB.
 */
const nodeFlags = [
  ...words('avx avx2 avx-vnni avx-vnni-int8 fma3 f16c bmi1 bmi2 lzcnt').map(name => `--no-enable-${name}`),
  '--mcpu=generic',
];

/** How Node.js is started in the image. */
export const nodeCommand = ['/usr/local/bin/node', ...nodeFlags];

/** Where the image says what is in it. */
export const sbomPath = 'usr/share/sbom/fairlead.cdx.json';

/** Directories that are there, mostly to be mounted over. */
export const directories = ['dev', 'proc', 'run', 'sys', 'tmp', 'usr/lib64', 'var/lib/fairlead'];

const starts = Object.entries(startFlags).map(
  ([program, flags]) => `${program}) own='${flags.join(' ')}' ;;`,
);

/** Files that are written, by their path in the image. */
export const written: Readonly<Record<string, string>> = {
  'etc/passwd': `root:x:0:0:root:/:/bin/sh\nfairlead:x:${user}:${user}::/var/lib/fairlead:/bin/sh\n`,
  'etc/group': `root:x:0:\nfairlead:x:${user}:\n`,
  'etc/nsswitch.conf': 'passwd: files\ngroup: files\nhosts: files dns\n',
  'usr/local/bin/fairlead': `#!/bin/sh
case "$1" in
${starts.join('\n')}
*) own= ;;
esac
exec ${nodeCommand.join(' ')} $own /${home}/src/fairlead.mjs "$@"
`,
};

/** Links, by their path in the image. */
export const links: Readonly<Record<string, string>> = {
  bin: 'usr/bin',
  sbin: 'usr/sbin',
  lib: 'usr/lib',
  lib64: 'usr/lib64',
  'var/run': '../run',
  'etc/mtab': '../proc/self/mounts',
};

/** As `NAME=VALUE`. */
const variables = Object.entries(startVariables).map(([name, value]) => `${name}=${value}`);

/** What a runtime is told; deploy/image/Dockerfile says the same. */
export const runtime = {
  User: `${user}:${user}`,
  Env: ['PATH=/usr/local/bin:/usr/bin:/usr/sbin', ...variables],
  Entrypoint: ['fairlead'],
} as const;

function words(text: string): readonly string[] {
  return text.split(' ');
}
