import { Problem } from '../../src/api/problem.ts';
import type { Filesystem } from '../filesystem.ts';

/** A sensitivity, or a range of them, each with its categories. */
const level = (separator: string): string => {
  const one = `s\\d{1,2}(?::c\\d{1,4}(?:[.${separator}]c\\d{1,4}){0,15})?`;
  return `${one}(?:-${one})?`;
};
const owner = '[a-z_][a-z0-9_]{0,63}:[a-z_][a-z0-9_]{0,63}:[a-z_][a-z0-9_]{0,63}';

/** An SELinux context as kubelet gives it: in quotes, within which alone `mount` takes a comma for its own. */
const selinuxContext = new RegExp(`^(?:"${owner}:${level(',')}"|${owner}:${level('')})$`);

/** What has a list of flags: a filesystem, or a share. */
export type FlagTaker = { readonly name: string } & Pick<Filesystem, 'allowedFlags'>;

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
  context: selinuxContext,
};

/** Refuses a flag that is not on the list: `mount` would split it at a comma, or take it for something else. */
export function checkFlags(flags: readonly string[], filesystem: FlagTaker): void {
  for (const flag of flags) {
    if (!isAllowed(flag, filesystem))
      throw new Problem('INVALID_ARGUMENT', `mount flag "${flag}" is not allowed for ${filesystem.name}`);
  }
}

function isAllowed(flag: string, { allowedFlags }: FlagTaker): boolean {
  const [name = '', ...rest] = flag.split('=');
  const table = Object.hasOwn(allowedFlags, name) ? allowedFlags : commonFlags;
  return Object.hasOwn(table, name) && table[name]?.test(rest.join('=')) === true;
}
