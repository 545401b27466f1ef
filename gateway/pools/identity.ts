import { link, readFile, rm, writeFile } from 'node:fs/promises';
import type { JSONWebKeySet, JWK } from 'jose';
import { unavailableProblem } from '../../src/api/problem.ts';
import { parseJson } from '../../src/lib/json.ts';
import type { Identity } from '../backend.ts';

/** The gateway's identity, and the public keys by which others know it. */
export type OwnIdentity = Identity & {
  /** No keys until one was needed. What is wrong with the file is not for whoever asks. */
  keySet(): Promise<JSONWebKeySet>;
};

const lifetimeS = 300;
/** A token is used until a fifth of its life is left. */
const usedMs = 0.8 * lifetimeS * 1_000;
/** How long what was read of the file is shown, in milliseconds: nobody needs a token to ask. */
const shownMs = 1_000;

type Token = { readonly token: string; readonly untilMs: number };
type PrivateKey = JWK & { readonly kid: string; readonly alg: string };

/** Which algorithm a key on a curve signs with. */
const algorithms: ReadonlyMap<unknown, string> = new Map([
  ['Ed25519', 'EdDSA'],
  ['P-256', 'ES256'],
]);

/**
 * Makes the identity of the gateway of this name. The first key of the file, a JWKS, signs; all are published, so that a
 * new one is known before it signs and an old one until its last token has expired. A missing file is made when a token
 * is needed, for nobody else to read. UNAVAILABLE when the file cannot be used.
 */
export function createIdentity(name: string, keyFile: string): OwnIdentity {
  const tokens = new Map<string, Token>();
  let shown: { readonly keySet: Promise<JSONWebKeySet>; readonly untilMs: number } | undefined;

  async function sign(audience: string): Promise<string> {
    const [key] = (await readKeys(keyFile)) ?? (await makeKeys(keyFile));
    if (!key) throw unusableProblem(keyFile, 'has no key');
    const token = await signToken(key, { name, audience }).catch((error: unknown) => {
      throw unusableProblem(keyFile, 'holds a key that cannot sign', error);
    });
    tokens.set(audience, { token, untilMs: Date.now() + usedMs });
    return token;
  }

  return {
    name,
    async token(audience, renew) {
      const known = renew ? undefined : tokens.get(audience);
      return known && Date.now() < known.untilMs ? known.token : sign(audience);
    },
    keySet() {
      if (!shown || Date.now() >= shown.untilMs)
        shown = { keySet: publicKeys(keyFile), untilMs: Date.now() + shownMs };
      return shown.keySet;
    },
  };
}

async function signToken(
  { kid, alg, ...jwk }: PrivateKey,
  { name, audience }: { readonly name: string; readonly audience: string },
): Promise<string> {
  const [{ SignJWT }, { importJWK }] = await Promise.all([
    import('jose/jwt/sign'),
    import('jose/key/import'),
  ]);
  return new SignJWT()
    .setProtectedHeader({ alg, kid })
    .setIssuer(name)
    .setSubject(name)
    .setAudience(audience)
    .setIssuedAt()
    .setExpirationTime(`${lifetimeS}s`)
    .sign(await importJWK(jwk, alg));
}

async function publicKeys(keyFile: string): Promise<JSONWebKeySet> {
  const read = readKeys(keyFile).catch((error: unknown) => {
    throw unavailableProblem('the public keys cannot be read', error);
  });
  const keys = (await read) ?? [];
  // Each member is named: whatever else a private key has stays here.
  return {
    keys: keys.map(({ kty, crv, x, y, kid, alg }) => ({ kty, crv, x, y, kid, alg, use: 'sig' }) as JWK),
  };
}

/** The keys of the file; undefined when there is none. */
async function readKeys(path: string): Promise<readonly PrivateKey[] | undefined> {
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
  return keys.map((key: JWK) => toPrivateKey(key, path));
}

function toPrivateKey(key: JWK, path: string): PrivateKey {
  const alg = algorithms.get(Object(key).crv);
  if (!alg || typeof key.kid !== 'string' || key.kid === '' || typeof key.d !== 'string')
    throw unusableProblem(path, 'has what is no private key with a kid on the curve Ed25519 or P-256');
  return { ...key, kid: key.kid, alg };
}

/** Makes the file with one key; of two gateways that do so at a time both use the key of the first. */
async function makeKeys(path: string): Promise<readonly PrivateKey[]> {
  const [{ generateKeyPair }, { exportJWK }, { calculateJwkThumbprint }] = await Promise.all([
    import('jose/key/generate/keypair'),
    import('jose/key/export'),
    import('jose/jwk/thumbprint'),
  ]);
  const { privateKey } = await generateKeyPair('EdDSA', { crv: 'Ed25519', extractable: true });
  const jwk = await exportJWK(privateKey);
  const key = { ...jwk, alg: 'EdDSA', use: 'sig', kid: await calculateJwkThumbprint(jwk) };
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
