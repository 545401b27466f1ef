import { Problem } from '../src/api/problem.ts';
import type { Filesystem } from './filesystem.ts';

/** Flags that every filesystem knows. */
const commonFlags: Readonly<Record<string, RegExp>> = {
  ro: /^$/,
  noatime: /^$/,
  nodiratime: /^$/,
  relatime: /^$/,
  strictatime: /^$/,
  lazytime: /^$/,
  nosuid: /^$/,
  nodev: /^$/,
  noexec: /^$/,
  sync: /^$/,
  dirsync: /^$/,
};

/** Refuses a flag that is not on the list: `mount` would split it at a comma, or take it for something else. */
export function checkFlags(flags: readonly string[], filesystem: Filesystem): void {
  for (const flag of flags) {
    if (!isAllowed(flag, filesystem))
      throw new Problem('INVALID_ARGUMENT', `mount flag "${flag}" is not allowed for ${filesystem.name}`);
  }
}

function isAllowed(flag: string, { allowedFlags }: Filesystem): boolean {
  const [name = '', ...rest] = flag.split('=');
  const table = Object.hasOwn(allowedFlags, name) ? allowedFlags : commonFlags;
  return Object.hasOwn(table, name) && table[name]?.test(rest.join('=')) === true;
}
