import { closeSync, constants, fstatSync, openSync, readlinkSync } from 'node:fs';
import type { OpenedPath } from '../host.ts';

const { O_DIRECTORY, O_NOFOLLOW } = constants;
/** A flag that Node.js does not define: opens a path without reading or writing, so that nothing blocks. */
const O_PATH = 0o10000000;

/** Opens a path component by component; throws for a symbolic link in it (ENOTDIR, or ELOOP for the last component). */
export function openWithoutLinks(path: string): OpenedPath {
  const parts = path.split('/').filter(part => part !== '');
  let descriptor = openSync('/', O_PATH | O_DIRECTORY);
  for (const [index, part] of parts.entries())
    try {
      const isLast = index === parts.length - 1;
      const next = openSync(
        `${pathOf(descriptor)}/${part}`,
        O_PATH | O_NOFOLLOW | (isLast ? 0 : O_DIRECTORY),
      );
      closeSync(descriptor);
      descriptor = next;
      if (isLast && fstatSync(descriptor).isSymbolicLink())
        throw Object.assign(new Error(`"${path}" is a symbolic link`), { code: 'ELOOP', syscall: 'open' });
    } catch (error) {
      closeSync(descriptor);
      throw Object.assign(error as Error, { path });
    }
  return {
    path,
    descriptor,
    at: pathOf(descriptor),
    isInPlace: () => readlinkSync(pathOf(descriptor)) === path,
    [Symbol.dispose]: () => closeSync(descriptor),
  };
}

function pathOf(descriptor: number): string {
  return `/proc/self/fd/${descriptor}`;
}

/** The number of the first descriptor that a command gets, after standard input, output and error. */
const firstDescriptor = 3;

/** Rewrites an argument at or below an opened path so that a command reaches it through its descriptor. */
export function throughOpened(argument: string, opened: readonly OpenedPath[]): string {
  const index = opened.findIndex(({ path }) => argument === path || argument.startsWith(`${path}/`));
  const path = opened[index]?.path;
  return path === undefined
    ? argument
    : `/proc/self/fd/${firstDescriptor + index}${argument.slice(path.length)}`;
}
