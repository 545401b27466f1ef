import { reasonOf } from '../../src/lib/words/failures.ts';
import { existsSync } from 'node:fs';
import { link, readFile, rm, writeFile } from 'node:fs/promises';
import type { JSONWebKeySet } from 'jose';
import {
  claimsOf,
  importKey,
  isPrivateJwk,
  createKey,
  publicHalf,
  sign,
  signDetached,
  type PrivateJwk,
  type SigningKey,
  type TokenClaims,
} from '../../src/api/http/jwt.ts';
import { unavailableProblem } from '../../src/api/problem.ts';
import { parseJson } from '../../src/lib/json.ts';
import { startTimeLimit } from '../../src/lib/concurrency.ts';
import type { Identity } from '../backend.ts';

export type OwnIdentity = Identity & {
  /** Signs a token with these claims. */
  sign(claims: object): Promise<string>;
  /** Returns no keys until one is needed. Its error hides the fault of the key file from callers. */
  keySet(): Promise<JSONWebKeySet>;
  /**
   * Signs content with these members in the header and returns the JWS without the content; undefined if
   * there is no key and none can be made.
   */
  readonly signDetached: DetachedSigner;
  /**
   * Makes the key file if it is missing, so that others know the key before it signs. Rejects, with the
   * reason, when the file cannot be used.
   */
  prepare(): Promise<void>;
};

/** Signs content that is sent separately. */
export type DetachedSigner = (header: object, content: string) => Promise<string | undefined>;

const lifetimeMs = 300_000;
/** A token is replaced at this age, in milliseconds. */
const usedMs = 0.8 * lifetimeMs;
/**
 * A read of the key file is used for this time, in milliseconds. Anyone may ask for the public keys,
 * without a token.
 */
const shownMs = 1_000;

type CachedToken = { readonly token: string; readonly isOver: () => boolean };

/**
 * Creates the identity of the gateway with this name. The first key of the file, a JWKS, signs. All keys are
 * published, so that a new key is known before it signs, and an old one until its last token has expired. A
 * missing file is made when a key is needed, readable only by its owner. UNAVAILABLE when the file cannot be
 * used.
 */
export function createIdentity(name: string, keyFile: string): OwnIdentity {
  const tokens = new Map<string, CachedToken>();
  const readPublicKeys = recent(() => publicKeys(keyFile));
  const readSigningKey = recent(() => openSigningKey(keyFile));

  async function signFor(audience: string): Promise<string> {
    const isOver = startTimeLimit(usedMs);
    const claims: TokenClaims = { issuer: name, audience, lifetimeMs };
    const token = await sign(await openSigningKey(keyFile), claimsOf(claims));
    tokens.set(audience, { token, isOver });
    return token;
  }

  return {
    name,
    async token(audience, renew) {
      const known = renew ? undefined : tokens.get(audience);
      return known && !known.isOver() ? known.token : signFor(audience);
    },
    sign: async claims => sign(await openSigningKey(keyFile), claims),
    keySet: readPublicKeys,
    prepare: async () => void (await openSigningKey(keyFile)),
    async signDetached(header, content) {
      const key = await readSigningKey().catch((error: unknown) => {
        // A file that cannot be used is a fault. If there is none and none can be made, attachments are not
        // signed.
        if (!existsSync(keyFile)) return undefined;
        throw error;
      });
      return key && signDetached(key, header, content);
    },
  };
}

/** Keeps the result of a read for a while, even if it failed. */
function recent<T>(read: () => Promise<T>): () => Promise<T> {
  let last: { readonly value: Promise<T>; readonly isOver: () => boolean } | undefined;
  return () => {
    if (!last || last.isOver()) last = { value: read(), isOver: startTimeLimit(shownMs) };
    return last.value;
  };
}

/** Returns the first key of the file, ready to sign. */
async function openSigningKey(keyFile: string): Promise<SigningKey> {
  const [key] = (await readKeys(keyFile)) ?? (await createKeys(keyFile));
  if (!key) throw unusableProblem(keyFile, 'has no key');
  return importKey(key).catch((error: unknown) => {
    throw unusableProblem(keyFile, 'holds a key that cannot sign', error);
  });
}

async function publicKeys(keyFile: string): Promise<JSONWebKeySet> {
  const read = readKeys(keyFile).catch((error: unknown) => {
    throw unavailableProblem('the public keys cannot be read', error);
  });
  return { keys: ((await read) ?? []).map(publicHalf) };
}

/** Reads the keys of the file; undefined if there is no file. */
async function readKeys(path: string): Promise<readonly PrivateJwk[] | undefined> {
  let content: string;
  try {
    content = await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw unusableProblem(path, `cannot be read: ${reasonOf(error)}`);
  }
  const { keys } = Object(parseJson(content)) as { readonly keys?: unknown };
  if (!Array.isArray(keys)) throw unusableProblem(path, 'is not a JSON Web Key Set');
  if (keys.every(isPrivateJwk)) return keys;
  throw unusableProblem(
    path,
    'has an entry that is not a private key with a kid on the curve Ed25519 or P-256',
  );
}

/** Creates the file with one key. If two gateways do so at the same time, both use the key of the first. */
async function createKeys(path: string): Promise<readonly PrivateJwk[]> {
  const key = await createKey(crypto.randomUUID());
  const temporary = `${path}.${crypto.randomUUID()}`;
  try {
    await writeFile(temporary, JSON.stringify({ keys: [key] }), { mode: 0o600, flush: true });
    await link(temporary, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST')
      throw unusableProblem(path, `cannot be made: ${reasonOf(error)}`);
  } finally {
    await rm(temporary, { force: true });
  }
  return (await readKeys(path)) ?? [];
}

function unusableProblem(path: string, fault: string, cause?: unknown) {
  return unavailableProblem(`key file "${path}" ${fault}`, cause);
}
