import { reasonOf } from '../../lib/words/failures.ts';
import { readCertificate, requirePrivateKey } from './pem.ts';
import { readFile } from 'node:fs/promises';
import { unavailableProblem } from '../problem.ts';
import type { TlsFiles } from './exchange.ts';

/** The paths of PEM files: `ca` replaces the system's trusted certificates; `cert` and `key` are the client's certificate. */
export type TlsPaths = { readonly [Name in keyof TlsFiles]?: string | undefined };

/**
 * Returns a function that reads the files, called for each new connection so that renewed files are used; undefined without
 * paths. The function throws UNAVAILABLE for a file that is unreadable, or not of its kind. Throws if only one of `cert` and `key` is given.
 */
export function readTlsFiles(paths: TlsPaths): (() => Promise<TlsFiles>) | undefined {
  if ((paths.cert === undefined) !== (paths.key === undefined))
    throw new Error('--tls-cert-file and --tls-key-file need each other');
  const given = Object.entries(paths).filter(([, path]) => path !== undefined);
  if (given.length === 0) return undefined;
  return async () => {
    const read = given.map(async ([name, path = '']) => [name, await readPem(name, path)] as const);
    return Object.fromEntries(await Promise.all(read));
  };
}

async function readPem(name: string, path: string): Promise<Buffer> {
  const content = await readFile(path).catch((error: unknown) => {
    throw unavailableProblem(`"${path}" cannot be read: ${reasonOf(error)}`);
  });
  try {
    const file = { path, text: content.toString() };
    if (name === 'key') requirePrivateKey(file);
    else readCertificate(file);
    return content;
  } catch (error) {
    throw unavailableProblem((error as Error).message, error);
  }
}
