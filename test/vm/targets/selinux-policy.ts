import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const source = fileURLToPath(new URL('selinux.cil', import.meta.url));
const place = '/sys/fs/selinux';
const config = '/etc/selinux/config';

/** Mounts selinuxfs, and gives the kernel a policy; once for a machine, which has it until it ends. */
export function loadPolicy(): void {
  if (existsSync(`${place}/load`)) return;
  execFileSync('mount', ['-t', 'selinuxfs', 'selinuxfs', place]);
  const binary = '/run/policy';
  // Version 33 is the newest that Linux 6.1 reads, and later kernels read it, too.
  execFileSync('secilc', ['-c', '33', '-o', binary, '-f', '/dev/null', source]);
  writeFileSync(`${place}/load`, readFileSync(binary));
  writeConfig();
}

/** Takes away the file without which libselinux, and with it `mount`, takes SELinux for off; returns what gives it back. */
export function lackConfig(): () => void {
  rmSync(config);
  return writeConfig;
}

/** Makes selinuxfs read-only, as containers have it; returns what makes it writable. */
export function lackWritable(): () => void {
  remount('ro');
  return () => remount('rw');
}

function remount(mode: 'ro' | 'rw'): void {
  execFileSync('mount', ['-o', `remount,bind,${mode}`, place]);
}

function writeConfig(): void {
  mkdirSync('/etc/selinux', { recursive: true });
  writeFileSync(config, 'SELINUX=permissive\nSELINUXTYPE=test\n');
}

/** The label that the kernel shows for a file. */
export function labelOf(path: string): string {
  const args = ['--absolute-names', '--only-values', '-n', 'security.selinux', '--', path];
  return execFileSync('getfattr', args, { encoding: 'utf8' }).replace(/\0$/, '');
}
