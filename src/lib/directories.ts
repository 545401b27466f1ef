import { statSync } from 'node:fs';
import { access, constants, mkdir, readdir, realpath, stat } from 'node:fs/promises';
import { resolve } from 'node:path';

/** Creates a directory and its missing parents with mode 0700. An existing directory stays unchanged. */
export async function createDirectories(path: string): Promise<void> {
  // Recursive mkdir never ends where the kernel rejects directories, for example below /proc.
  const parts = resolve(path).split('/').slice(1);
  for (let depth = 1; depth <= parts.length; depth++) {
    await mkdir(`/${parts.slice(0, depth).join('/')}`, { mode: 0o700 }).catch(
      (error: NodeJS.ErrnoException) => {
        if (error.code !== 'EEXIST') throw error;
      },
    );
  }
  // Fails, with the path, if a part of it is a file.
  await readdir(path);
}

/** The identity of a file or directory, read without opening it; undefined when it is missing. */
export function identityOf(path: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false });
  // Every commit reads it, and big integers take three times as long.
  if (!found || Number.isSafeInteger(found.ino)) return found && `${found.dev}:${found.ino}`;
  const exact = statSync(path, { bigint: true, throwIfNoEntry: false });
  return exact && `${exact.dev}:${exact.ino}`;
}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such directory',
  EACCES: 'no permission to write to it',
  EROFS: 'its filesystem is read-only',
};

/** Resolves the links in a directory's path. Throws an error of one line when the directory cannot be written. */
export async function requireWritableDirectory(path: string, what: string): Promise<string> {
  try {
    const real = await realpath(path);
    if (!(await stat(real)).isDirectory()) throw new Error('it is not a directory');
    await access(real, constants.W_OK | constants.X_OK);
    return real;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new Error(`cannot use ${what} "${path}": ${reasons[code ?? ''] ?? message}`, { cause: error });
  }
}

/** Reports why a directory cannot be written, in one line; empty when it can. */
export function directoryFaults(path: string, what: string): Promise<readonly string[]> {
  return requireWritableDirectory(path, what).then(
    () => [],
    ({ message }: Error) => [message],
  );
}
