import { readFile } from 'node:fs/promises';
// The whole package, of which this is a small part, takes 3 MB more.
import { SignJWT } from 'jose/jwt/sign';
import { importJWK } from 'jose/key/import';
import type { JWK } from 'jose';
import { type Problem, unavailableProblem } from '../api/problem.ts';
import { parseJson } from '../lib/json.ts';

/** What goes into a token, and the key that signs it. */
export type TokenOptions = {
  readonly keyFile: string;
  readonly issuer: string;
  readonly audience: string;
  readonly lifetimeMs: number;
};

/** Gives a bearer token that is good for some time still; `renew` reads the key again and signs a new one. */
export type TokenSource = (renew: boolean) => string | Promise<string>;

/** Which algorithm a key on a curve signs with. */
const algorithms: ReadonlyMap<unknown, string> = new Map([
  ['Ed25519', 'EdDSA'],
  ['P-256', 'ES256'],
]);

/** Signs tokens, reuses each until a fifth of its life is left, and reads the key file for every new one. */
export function createTokenSource({ keyFile, issuer, audience, lifetimeMs }: TokenOptions): TokenSource {
  let current: { readonly token: string; readonly renewAtMs: number } | undefined;
  async function sign(): Promise<string> {
    const { alg, kid, key } = await readKey(keyFile);
    const nowMs = Date.now();
    const token = await new SignJWT()
      .setProtectedHeader({ alg, kid })
      .setIssuer(issuer)
      .setSubject(issuer)
      .setAudience(audience)
      .setIssuedAt(Math.floor(nowMs / 1000))
      .setExpirationTime(Math.floor((nowMs + lifetimeMs) / 1000))
      .sign(key)
      .catch(() => {
        throw unusableProblem(keyFile, 'holds a key that may not sign');
      });
    current = { token, renewAtMs: nowMs + lifetimeMs * 0.8 };
    return token;
  }

  return renew => (current && !renew && Date.now() < current.renewAtMs ? current.token : sign());
}

/** How long a token that was read serves without another look at its file, in milliseconds. */
const readAgainMs = 1_000;

/** Gives the token of a file that somebody else renews; reads it again at once where the last one was not accepted. */
export function readTokenFile(path: string): TokenSource {
  let known: { readonly token: string; readonly untilMs: number } | undefined;
  async function read(): Promise<string> {
    const content = await readFile(path, 'utf8').catch(
      ({ code = 'unknown error' }: NodeJS.ErrnoException) => {
        throw unavailableProblem(`token file "${path}" cannot be read (${code})`);
      },
    );
    const token = content.trim();
    if (!/^[\w.~+/=-]+$/.test(token)) throw unavailableProblem(`token file "${path}" holds no token`);
    known = { token, untilMs: performance.now() + readAgainMs };
    return token;
  }
  return renew => (known && !renew && performance.now() < known.untilMs ? known.token : read());
}

/** Reads a private key; throws a `Problem` UNAVAILABLE that names the file and the fault, never its content. */
export async function readKey(path: string) {
  const content = await readFile(path, 'utf8').catch(({ code = 'unknown error' }: NodeJS.ErrnoException) => {
    throw unusableProblem(path, `cannot be read (${code})`);
  });
  const jwk = Object(parseJson(content)) as JWK;
  const alg = algorithms.get(jwk.crv);
  if (!alg || typeof jwk.kid !== 'string' || jwk.kid === '' || !jwk.d)
    throw unusableProblem(path, 'is not a private JWK with kid on the curve Ed25519 or P-256');
  try {
    return { alg, kid: jwk.kid, key: await importJWK(jwk, alg) };
  } catch {
    throw unusableProblem(path, 'holds a key that cannot be used');
  }
}

function unusableProblem(path: string, fault: string): Problem {
  return unavailableProblem(`key file "${path}" ${fault}`);
}
