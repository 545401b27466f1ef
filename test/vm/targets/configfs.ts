import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** The directory that configures the kernel's targets. */
export const config = '/sys/kernel/config';

/** Loads modules of the kernel and mounts configfs. */
export function loadTarget(...modules: readonly string[]): void {
  execFileSync('modprobe', ['-a', 'configfs', ...modules]);
  if (!readFileSync('/proc/mounts', 'utf8').includes(` ${config} `))
    execFileSync('mount', ['-t', 'configfs', 'none', config]);
}
