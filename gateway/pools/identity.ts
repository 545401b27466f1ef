import { link, readFile, rm, writeFile } from 'node:fs/promises';
import type { JSONWebKeySet } from 'jose';
import {
  claimsOf,
  importKey,
  isPrivateJwk,
  makeKey,
  publicHalf,
  sign,
  type PrivateJwk,
  type TokenClaims,
} from '../../src/api/http/jwt.ts';
import { unavailableProblem } from '../../src/api/problem.ts';
import { parseJson } from '../../src/lib/json.ts';
import type { Identity } from '../backend.ts';

/** The gateway's identity, and the public keys by which others know it. */
export type OwnIdentity = Identity & {
  /** No keys until one was needed. What is wrong with the file is not for whoever asks. */
  keySet(): Promise<JSONWebKeySet>;
};

const lifetimeMs = 300_000;
/** A token is used until a fifth of its life is left. */
const usedMs = 0.8 * lifetimeMs;
/** How long what was read of the file is shown, in milliseconds: nobody needs a token to ask. */
const shownMs = 1_000;

type Token = { readonly token: string; readonly untilMs: number };

/**
 * Makes the identity of the gateway of this name. The first key of the file, a JWKS, signs; all are published, so that a
 * new one is known before it signs and an old one until its last token has expired. A missing file is made when a token
 * is needed, for nobody else to read. UNAVAILABLE when the file cannot be used.
 */
export function createIdentity(name: string, keyFile: string): OwnIdentity {
  const tokens = new Map<string, Token>();
  let shown: { readonly keySet: Promise<JSONWebKeySet>; readonly untilMs: number } | undefined;

  async function signFor(audience: string): Promise<string> {
    const [key] = (await readKeys(keyFile)) ?? (await makeKeys(keyFile));
    if (!key) throw unusableProblem(keyFile, 'has no key');
    const token = await signWith(key, { issuer: name, audience, lifetimeMs }).catch((error: unknown) => {
      throw unusableProblem(keyFile, 'holds a key that cannot sign', error);
    });
    tokens.set(audience, { token, untilMs: Date.now() + usedMs });
    return token;
  }

  return {
    name,
    async token(audience, renew) {
      const known = renew ? undefined : tokens.get(audience);
      return known && Date.now() < known.untilMs ? known.token : signFor(audience);
    },
    keySet() {
      if (!shown || Date.now() >= shown.untilMs)
        shown = { keySet: publicKeys(keyFile), untilMs: Date.now() + shownMs };
      return shown.keySet;
    },
  };
}

async function signWith(key: PrivateJwk, claims: TokenClaims): Promise<string> {
  return sign(await importKey(key), claimsOf(claims));
}

async function publicKeys(keyFile: string): Promise<JSONWebKeySet> {
  const read = readKeys(keyFile).catch((error: unknown) => {
    throw unavailableProblem('the public keys cannot be read', error);
  });
  return { keys: ((await read) ?? []).map(publicHalf) };
}

/** The keys of the file; undefined when there is none. */
async function readKeys(path: string): Promise<readonly PrivateJwk[] | undefined> {
  let content: string;
  try {
    content = await readFile(path, 'utf8');
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    throw unusableProblem(path, `cannot be read (${code})`);
  }
  const { keys } = Object(parseJson(content)) as { readonly keys?: unknown };
  if (!Array.isArray(keys)) throw unusableProblem(path, 'is no JWKS');
  if (keys.every(isPrivateJwk)) return keys;
  throw unusableProblem(path, 'has what is no private key with a kid on the curve Ed25519 or P-256');
}

/** Makes the file with one key; of two gateways that do so at a time both use the key of the first. */
async function makeKeys(path: string): Promise<readonly PrivateJwk[]> {
  const key = await makeKey(crypto.randomUUID());
  const temporary = `${path}.${crypto.randomUUID()}`;
  try {
    await writeFile(temporary, JSON.stringify({ keys: [key] }), { mode: 0o600, flush: true });
    await link(temporary, path);
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    if (code !== 'EEXIST') throw unusableProblem(path, `cannot be made (${code})`);
  } finally {
    await rm(temporary, { force: true });
  }
  return (await readKeys(path)) ?? [];
}

function unusableProblem(path: string, fault: string, cause?: unknown) {
  return unavailableProblem(`key file "${path}" ${fault}`, cause);
}
