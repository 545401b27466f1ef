import { startFlags, startVariables } from '../../src/lib/start.ts';

/** The programs that the image takes from each Debian package. The libraries that they need are added automatically. */
export const programs: Readonly<Record<string, readonly string[]>> = {
  mount: ['mount', 'umount', 'losetup'],
  'util-linux': words('blkid blockdev fallocate findmnt flock fsfreeze fstrim lsblk setpriv unshare'),
  e2fsprogs: ['mkfs.ext4', 'dumpe2fs', 'e2fsck', 'filefrag', 'resize2fs'],
  xfsprogs: ['mkfs.xfs', 'xfs_growfs', 'xfs_io', 'xfs_logprint', 'xfs_quota', 'xfs_repair'],
  'btrfs-progs': ['mkfs.btrfs', 'btrfs'],
  'nfs-common': ['mount.nfs'],
  'open-iscsi': ['iscsiadm'],
  'nvme-cli': ['nvme'],
  // Clients of the host's daemon; no daemon runs in the container.
  'multipath-tools': ['multipath', 'multipathd'],
  'cryptsetup-bin': ['cryptsetup'],
  dmsetup: ['dmsetup'],
  kmod: ['modprobe'],
  diffutils: ['cmp'],
  grep: ['grep'],
  findutils: ['find', 'xargs'],
  // The chart uses `install`; the last four are for debugging in a container.
  coreutils: words('cat chmod cp dd mkdir realpath rm rmdir stat sync tee test timeout install df env id ls'),
  dash: ['sh'],
};

/** Other files that programs read, by package. A name that ends with a slash means a whole directory. */
export const companions: Readonly<Record<string, readonly string[]>> = {
  'base-files': ['etc/os-release', 'usr/lib/os-release'],
  e2fsprogs: ['etc/mke2fs.conf'],
  'libtirpc-common': ['etc/netconfig'],
  // Plug-ins that multipath loads by name.
  'multipath-tools': ['usr/lib/multipath/'],
  // Node.js is linked with them.
  libatomic1: [],
  'libstdc++6': [],
};

/** Dependencies that only scripts and services of the packages need. A missing library would fail the build. */
export const unused = /^(perl|libperl|python|libpython|libicu|initramfs|klibc|udev_)/;

/** The directory of Fairlead's programs in the image. The compile cache contains this path. */
export const home = 'opt/fairlead';

/** The user of the gateway and the controller, which need no rights. The chart runs the node agent as root. */
export const user = 65_532;

/**
 * Flags that limit V8 to the features of every x86-64-v2 processor. V8 accepts a compile cache only on a machine with the same
 * processor features; without the cache each node would strip types at start, for 20 to 40 MB of memory.
 */
const nodeFlags = [
  ...words('avx avx2 avx-vnni avx-vnni-int8 fma3 f16c bmi1 bmi2 lzcnt').map(name => `--no-enable-${name}`),
  '--mcpu=generic',
];

/** The command line of Node.js in the image. */
export const nodeCommand = ['/usr/local/bin/node', ...nodeFlags];

/** The path of the bill of materials in the image. */
export const sbomPath = 'usr/share/sbom/fairlead.cdx.json';

/** Empty directories, most of them mount points. */
export const directories = ['dev', 'proc', 'run', 'sys', 'tmp', 'usr/lib64', 'var/lib/fairlead'];

/** The contents of text files, by their path in the image. */
export const textFiles: Readonly<Record<string, string>> = {
  'etc/passwd': `root:x:0:0:root:/:/bin/sh\nfairlead:x:${user}:${user}::/var/lib/fairlead:/bin/sh\n`,
  'etc/group': `root:x:0:\nfairlead:x:${user}:\n`,
  'etc/nsswitch.conf': 'passwd: files\ngroup: files\nhosts: files dns\n',
  'usr/local/bin/fairlead': launcherOf(nodeCommand, `/${home}/src/fairlead.mjs`),
};

/** The targets of symbolic links, by their path in the image. */
export const links: Readonly<Record<string, string>> = {
  bin: 'usr/bin',
  sbin: 'usr/sbin',
  lib: 'usr/lib',
  lib64: 'usr/lib64',
  'var/run': '../run',
  'etc/mtab': '../proc/self/mounts',
};

/** Environment variables as `NAME=VALUE`. */
const variables = Object.entries(startVariables).map(([name, value]) => `${name}=${value}`);

/** The image's configuration for container runtimes; deploy/image/Dockerfile has the same. */
export const runtime = {
  User: `${user}:${user}`,
  Env: ['PATH=/usr/local/bin:/usr/bin:/usr/sbin', ...variables],
  Entrypoint: ['fairlead'],
} as const;

/** Makes the script `fairlead`, which starts each program with its own options of Node.js. */
export function launcherOf(node: readonly string[], entry: string): string {
  const starts = Object.entries(startFlags).map(
    ([program, flags]) => `${program}) own='${flags.join(' ')}' ;;`,
  );
  return `#!/bin/sh
case "$1" in
${starts.join('\n')}
*) own= ;;
esac
exec ${node.join(' ')} $own ${entry} "$@"
`;
}

function words(text: string): readonly string[] {
  return text.split(' ');
}
