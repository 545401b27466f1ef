import { statSync } from 'node:fs';
import { access, constants, mkdir, readdir, realpath, stat } from 'node:fs/promises';
import { resolve } from 'node:path';

/** Makes a directory and those above it that are missing, mode 0700; one that is there is fine. */
export async function makeDirectories(path: string): Promise<void> {
  // Not mkdir's own recursion, which never ends where the kernel takes no directories, as below /proc.
  const parts = resolve(path).split('/').slice(1);
  for (let depth = 1; depth <= parts.length; depth++) {
    await mkdir(`/${parts.slice(0, depth).join('/')}`, { mode: 0o700 }).catch(
      (error: NodeJS.ErrnoException) => {
        if (error.code !== 'EEXIST') throw error;
      },
    );
  }
  // Fails, with the path, where a file was taken for a directory above.
  await readdir(path);
}

/** Differs for each file or directory that is there; undefined where there is none. Nothing is opened. */
export function identityOf(path: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false });
  // It is asked for each commit, and big integers take three times as long.
  if (!found || Number.isSafeInteger(found.ino)) return found && `${found.dev}:${found.ino}`;
  const exact = statSync(path, { bigint: true, throwIfNoEntry: false });
  return exact && `${exact.dev}:${exact.ino}`;
}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such directory',
  EACCES: 'no permission to write to it',
  EROFS: 'its filesystem is read-only',
};

/** The directory without links in its path, as the kernel shows it; throws one line when it cannot be written. */
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

/** Why the directory cannot be written, in one line; none when it can. */
export function directoryFaults(path: string, what: string): Promise<readonly string[]> {
  return requireWritableDirectory(path, what).then(
    () => [],
    ({ message }: Error) => [message],
  );
}
