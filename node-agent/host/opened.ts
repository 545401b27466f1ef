import { closeSync, constants, fstatSync, openSync, readlinkSync } from 'node:fs';
import type { Opened } from '../host.ts';

const { O_DIRECTORY, O_NOFOLLOW } = constants;
/** Node.js does not name it: what is opened is neither read nor written, so that nothing waits and nothing happens. */
const O_PATH = 0o10000000;

/** Opens a path from the root on, one component at a time: a symbolic link in it is an error (ENOTDIR, or ELOOP for the last). */
export function openWithoutLinks(path: string): Opened {
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

/** Standard input, output and error come first. */
const firstGiven = 3;

/** An argument as a command reaches it that is given the descriptors: by what was opened where it lies at or in that. */
export function throughOpened(argument: string, opened: readonly Opened[]): string {
  const index = opened.findIndex(({ path }) => argument === path || argument.startsWith(`${path}/`));
  const path = opened[index]?.path;
  return path === undefined ? argument : `/proc/self/fd/${firstGiven + index}${argument.slice(path.length)}`;
}
