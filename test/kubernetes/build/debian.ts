import { copyFileSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { run } from './run.ts';

/** The files that are taken from each of Debian's packages; nothing is installed. */
export const debianPackages: Readonly<Record<string, readonly string[]>> = {
  'busybox-static': ['bin/busybox'],
  containerd: ['usr/bin/containerd', 'usr/bin/containerd-shim-runc-v2', 'usr/bin/ctr'],
  'etcd-server': ['usr/bin/etcd'],
  nftables: ['usr/sbin/nft'],
  libedit2: [libraryOf('libedit.so.2')],
  libgmp10: [libraryOf('libgmp.so.10')],
  libjansson4: [libraryOf('libjansson.so.4')],
  libmnl0: [libraryOf('libmnl.so.0')],
  libnftables1: [libraryOf('libnftables.so.1')],
  libnftnl11: [libraryOf('libnftnl.so.11')],
  libxtables12: [libraryOf('libxtables.so.12')],
  runc: ['usr/sbin/runc'],
};

function libraryOf(name: string): string {
  return `usr/lib/x86_64-linux-gnu/${name}`;
}

/** Downloads the packages and copies their programs into a directory. */
export function unpackPackages(into: string): void {
  const work = join(into, 'packages');
  const root = join(work, 'root');
  mkdirSync(root, { recursive: true });
  download(work);
  for (const file of readdirSync(work).filter(name => name.endsWith('.deb')))
    run('dpkg-deb', ['--extract', join(work, file), root]);
  for (const program of Object.values(debianPackages).flat())
    copyFileSync(join(root, program), join(into, basename(program)));
  rmSync(work, { recursive: true });
}

/** Downloads the packages; updates the machine's package lists first if they are missing or old. */
function download(directory: string): void {
  const args = ['-qq', '-o', 'APT::Sandbox::User=root', 'download', '--', ...Object.keys(debianPackages)];
  try {
    run('apt-get', args, { cwd: directory });
  } catch {
    run('apt-get', ['update', '-qq']);
    run('apt-get', args, { cwd: directory });
  }
}
