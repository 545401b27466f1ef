import { reasonOf } from '../../lib/words/failures.ts';
import { readFile } from 'node:fs/promises';
import { claimsOf, importKey, isPrivateJwk, sign, type SigningKey, type TokenClaims } from './jwt.ts';
import { type Problem, unavailableProblem } from '../problem.ts';
import { parseJson } from '../../lib/json.ts';

type TokenOptions = TokenClaims & { readonly keyFile: string };

/** Returns a bearer token that stays valid for some time; with `renew` a new one. */
export type TokenSource = (renew: boolean) => string | Promise<string>;

/** Creates a source that signs tokens, reuses each until a fifth of its lifetime is left, and reads the key file for each. */
export function createTokenSource({ keyFile, ...claims }: TokenOptions): TokenSource {
  let current: { readonly token: string; readonly renewAtMs: number } | undefined;
  async function signNext(): Promise<string> {
    const token = await sign(await readKey(keyFile), claimsOf(claims));
    current = { token, renewAtMs: Date.now() + claims.lifetimeMs * 0.8 };
    return token;
  }

  return renew => (current && !renew && Date.now() < current.renewAtMs ? current.token : signNext());
}

/** Time until a token file is read again, in milliseconds. */
const readAgainMs = 1_000;

/** Makes a source of tokens from a file that another program renews. With `renew` the file is read again at once. */
export function readTokenFile(path: string): TokenSource {
  let known: { readonly token: string; readonly untilMs: number } | undefined;
  async function read(): Promise<string> {
    const content = await readFile(path, 'utf8').catch((error: unknown) => {
      throw unavailableProblem(`token file "${path}" cannot be read: ${reasonOf(error)}`);
    });
    const token = content.trim();
    if (!/^[\w.~+/=-]+$/.test(token)) throw unavailableProblem(`token file "${path}" holds no token`);
    known = { token, untilMs: performance.now() + readAgainMs };
    return token;
  }
  return renew => (known && !renew && performance.now() < known.untilMs ? known.token : read());
}

/** Reads a private key; UNAVAILABLE names the file and the fault, but never the content. */
export async function readKey(path: string): Promise<SigningKey> {
  const content = await readFile(path, 'utf8').catch((error: unknown) => {
    throw unusableProblem(path, `cannot be read: ${reasonOf(error)}`);
  });
  const jwk = parseJson(content);
  if (!isPrivateJwk(jwk))
    throw unusableProblem(path, 'is not a private JWK with kid on the curve Ed25519 or P-256');
  return importKey(jwk).catch(() => {
    throw unusableProblem(path, 'holds a key that cannot be used');
  });
}

function unusableProblem(path: string, fault: string): Problem {
  return unavailableProblem(`key file "${path}" ${fault}`);
}
