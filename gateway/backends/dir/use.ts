import { readFile } from 'node:fs/promises';
import { Problem } from '../../../src/api/problem.ts';
import { isAtOrBelow, originOf, parseMountinfo, type Mount } from '../../../src/lib/linux/mountinfo.ts';
import type { Item } from './paths.ts';

/** What this machine shows of a directory now; what other machines mount, nothing here shows. */
export type Use = {
  /** Where the directory, or a part of it, is mounted. */
  readonly users: readonly Mount[];
  /** What is mounted on it or in it, and hides what is there. */
  readonly guests: readonly Mount[];
};

/** Observed, not remembered. */
export async function readUse({ path }: Item): Promise<Use> {
  const mounts = parseMountinfo(await readFile('/proc/self/mountinfo', 'utf8'));
  const origin = originOf(mounts, path);
  const guests = mounts.filter(mount => isAtOrBelow(mount.path, path));
  const users = mounts.filter(
    mount => mount.device === origin?.device && isAtOrBelow(mount.root, origin.root),
  );
  return { users, guests };
}

/** FAILED_PRECONDITION while the directory, or a part of it, is mounted somewhere, or something is mounted in it. */
export async function requireUnmounted(item: Item): Promise<void> {
  const { users, guests } = await readUse(item);
  const [mount] = [...guests, ...users];
  if (mount) throw new Problem('FAILED_PRECONDITION', `${item.what} is still mounted at "${mount.path}"`);
}

/** True while this machine has it mounted anywhere in a way that lets somebody write to it. */
export async function isMountedForWriting(item: Item): Promise<boolean> {
  const { users } = await readUse(item);
  return users.some(({ options, superOptions }) => options.includes('rw') && superOptions.includes('rw'));
}

/** FAILED_PRECONDITION while something is mounted on the directory or in it: what it hides could not be copied. */
export async function requireNothingInside(item: Item): Promise<void> {
  const [mount] = (await readUse(item)).guests;
  if (mount)
    throw new Problem('FAILED_PRECONDITION', `something is mounted in ${item.what}, at "${mount.path}"`);
}
