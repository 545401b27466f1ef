import { mkdir, readdir } from 'node:fs/promises';
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
