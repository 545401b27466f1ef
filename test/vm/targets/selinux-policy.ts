import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const source = fileURLToPath(new URL('selinux.cil', import.meta.url));
const place = '/sys/fs/selinux';
const config = '/etc/selinux/config';

/** Mounts selinuxfs and loads a policy, once for a machine, until the machine ends. */
export function loadPolicy(): void {
  if (existsSync(`${place}/load`)) return;
  execFileSync('mount', ['-t', 'selinuxfs', 'selinuxfs', place]);
  const binary = '/run/policy';
  // Version 33 is the newest that Linux 6.1 reads; later kernels read it, too.
  execFileSync('secilc', ['-c', '33', '-o', binary, '-f', '/dev/null', source]);
  writeFileSync(`${place}/load`, readFileSync(binary));
  writeConfig();
}

/**
 * Removes the file without which libselinux, and so `mount`, considers SELinux disabled; returns a function that
 * restores it.
 */
export function lackConfig(): () => void {
  rmSync(config);
  return writeConfig;
}

/** Makes selinuxfs read-only, as in containers; returns a function that makes it writable again. */
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

/** Returns the label that the kernel shows for a file. */
export function labelOf(path: string): string {
  const args = ['--absolute-names', '--only-values', '-n', 'security.selinux', '--', path];
  return execFileSync('getfattr', args, { encoding: 'utf8' }).replace(/\0$/, '');
}
