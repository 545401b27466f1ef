import { reasonOf } from '../../../src/lib/words/failures.ts';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { HttpOptions } from '../../../src/api/http.ts';
import { createOauth } from '../../../src/api/http/oauth.ts';
import { unavailableProblem } from '../../../src/api/problem.ts';
import type { PoolContext } from '../../backend.ts';
import type { RestSettings } from './settings.ts';

export type TokenSource = HttpOptions['token'];

/** Creates the source of tokens for the storage: a file, an authorization server, or tokens that the gateway signs. */
export function createTokenSource(
  { url, audience, token, oauth, tls, requestTimeout }: RestSettings,
  { identity, directory = '.' }: PoolContext,
): TokenSource {
  if (token !== undefined) return () => readSecret(resolve(directory, token));
  if (oauth) {
    const secret = () => readSecret(resolve(directory, oauth.clientSecret));
    return createOauth({ ...oauth, secret, timeoutMs: requestTimeout });
  }
  if (tls?.cert !== undefined && audience === undefined) return () => undefined;
  if (!identity)
    throw new Error(
      'this gateway has no key to sign tokens; set "token", "oauth" or "tls", or start it with a key',
    );
  return renew => identity.token(audience ?? url, renew);
}

async function readSecret(path: string): Promise<string> {
  try {
    return (await readFile(path, 'utf8')).trim();
  } catch (error) {
    throw unavailableProblem(`"${path}" cannot be read: ${reasonOf(error)}`, error);
  }
}
