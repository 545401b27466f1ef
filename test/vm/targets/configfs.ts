import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** Where the kernel's targets are set up. */
export const config = '/sys/kernel/config';

/** Loads modules of the kernel, and mounts what they are set up by. */
export function loadTarget(...modules: readonly string[]): void {
  execFileSync('modprobe', ['-a', 'configfs', ...modules]);
  if (!readFileSync('/proc/mounts', 'utf8').includes(` ${config} `))
    execFileSync('mount', ['-t', 'configfs', 'none', config]);
}
