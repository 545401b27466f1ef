import { readFile } from 'node:fs/promises';
import { unavailableProblem } from '../problem.ts';
import type { TlsFiles } from './exchange.ts';

/** Paths of PEM files: whose certificates are trusted instead of the system's, and what proves who connects. */
export type TlsPaths = { readonly [Name in keyof TlsFiles]?: string | undefined };

/**
 * Gives what reads the files, which is done for each new connection, so that renewed ones count; undefined when there are
 * none. UNAVAILABLE names a file that cannot be read. Throws where one of `cert` and `key` is there alone.
 */
export function readTlsFiles(paths: TlsPaths): (() => Promise<TlsFiles>) | undefined {
  if ((paths.cert === undefined) !== (paths.key === undefined))
    throw new Error('--tls-cert-file and --tls-key-file need each other');
  const given = Object.entries(paths).filter(([, path]) => path !== undefined);
  if (given.length === 0) return undefined;
  return async () => {
    const read = given.map(async ([name, path = '']) => [name, await readPem(path)] as const);
    return Object.fromEntries(await Promise.all(read));
  };
}

async function readPem(path: string): Promise<Buffer> {
  return readFile(path).catch(({ code = 'unknown error' }: NodeJS.ErrnoException) => {
    throw unavailableProblem(`"${path}" cannot be read (${code})`);
  });
}
