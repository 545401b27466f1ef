import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connectBox, mountDisk, openStoragePool } from '../box.ts';
import { address } from '../cables.ts';
import type { ShareBoxRole } from '../fleet.ts';
import { openGateway } from '../gateway.ts';

const root = '/box';
const pool = {
  backend: 'dir',
  dir: `${root}/shares`,
  export: { protocol: 'nfs', addresses: [address], noRootSquash: true },
};

/** Opens a storage server for the cluster "c" that exports directories or filesystems of a disk of this machine. */
export async function openShareBox(role: ShareBoxRole) {
  connectBox();
  if (role === 'share-box') mountDisk('/dev/vda', root, 'prjquota');
  else {
    openStoragePool(root, ['files/shares']);
    // As on a machine with systemd, the server's root sees the mounts of new volumes.
    execFileSync('mount', ['--make-rshared', '/']);
  }
  startServer();
  mkdirSync(pool.dir, { recursive: true });
  return {
    ...(await openGateway(root, { shares: pool })),
    /** Returns the content of a file of the volume. */
    read: async (name: string, file: string) => readFileSync(`${pool.dir}/c.${name}/${file}`, 'utf8'),
    /** Lists the exports of attachments. */
    left: async () => [
      ...readdirSync('/etc/exports.d'),
      ...execFileSync('exportfs', ['-s'], { encoding: 'utf8' }).split('\n').filter(Boolean),
    ],
  };
}

/** Starts the kernel's NFS server as Debian does. Its state and the exports outlive the machine, as on a real disk. */
export function startServer(): void {
  execFileSync('modprobe', ['nfsd']);
  for (const path of ['/etc/exports.d', '/var/lib/nfs']) {
    const kept = `${root}/kept${path}`;
    for (const one of [kept, path]) mkdirSync(one, { recursive: true });
    execFileSync('mount', ['--bind', '--', kept, path]);
  }
  for (const name of ['rpc_pipefs', 'nfsdcld', 'v4recovery'])
    mkdirSync(`/var/lib/nfs/${name}`, { recursive: true });
  for (const file of ['etab', 'rmtab', 'xtab'])
    if (!existsSync(`/var/lib/nfs/${file}`)) writeFileSync(`/var/lib/nfs/${file}`, '');
  writeFileSync('/etc/exports', '');
  execFileSync('mount', ['-t', 'nfsd', 'nfsd', '/proc/fs/nfsd']);
  execFileSync('mount', ['-t', 'rpc_pipefs', 'pipe', '/var/lib/nfs/rpc_pipefs']);
  makeServerRoot();
  execFileSync('exportfs', ['-r']);
  startDaemon('chroot', root, 'rpc.mountd', '-F', '-N', '2', '-N', '3', '--no-udp');
  const pid = startDaemon('nfsdcld', '-F', '-p', '/var/lib/nfs/rpc_pipefs', '-s', '/var/lib/nfs/nfsdcld');
  // Without it the server would forget at its end which nodes may have their open files and locks back.
  execFileSync('sh', ['-c', 'until ls -l "/proc/$0/fd" | grep -q inotify; do sleep 0.1; done', String(pid)]);
  execFileSync('rpc.nfsd', ['-N', '3', '--lease-time', '10', '--grace-time', '10', '8']);
}

/** Starts a program that outlives this process, and returns its process id. */
function startDaemon(command: string, ...args: readonly string[]): number {
  const child = spawn(command, args, { stdio: 'ignore' });
  child.unref();
  return child.pid ?? assert.fail(`cannot start ${command}`);
}

/**
 * Lets the server's programs take the disk for the root: the server shows nodes the directories above an export from the
 * root on, and cannot export this machine's own root, an overlay.
 */
function makeServerRoot(): void {
  for (const path of [
    root,
    '/bin',
    '/dev',
    '/etc',
    '/lib',
    '/lib64',
    '/proc',
    '/sbin',
    '/sys',
    '/usr',
    '/var',
  ]) {
    mkdirSync(`${root}${path}`, { recursive: true });
    execFileSync('mount', ['--rbind', '--', path, `${root}${path}`]);
  }
  const inRoot = `#!/bin/sh\nexec chroot ${root} /usr/sbin/exportfs "$@"\n`;
  writeFileSync('/usr/local/sbin/exportfs', inRoot, { mode: 0o755 });
}
