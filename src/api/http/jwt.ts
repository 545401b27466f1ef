// Parts of jose, because the whole package takes 3 MB more.
import { exportJWK } from 'jose/key/export';
import { generateKeyPair } from 'jose/key/generate/keypair';
import { FlattenedSign } from 'jose/jws/flattened/sign';
import { SignJWT } from 'jose/jwt/sign';

/** A private key for signing tokens (a JWK, RFC 7517). */
export type PrivateJwk = {
  readonly kty: string;
  readonly crv: Curve;
  readonly kid: string;
  readonly x: string;
  readonly y?: string;
  readonly d: string;
  readonly alg?: string;
};

export type SigningKey = { readonly alg: string; readonly kid: string; readonly key: CryptoKey };

export type TokenClaims = { readonly issuer: string; readonly audience: string; readonly lifetimeMs: number };

type Curve = keyof typeof curves;

/** The curves of signing keys by their names in JWKs, with the algorithm, and WebCrypto's names. */
const curves = {
  Ed25519: { alg: 'EdDSA', kty: 'OKP', key: { name: 'Ed25519' } },
  'P-256': { alg: 'ES256', kty: 'EC', key: { name: 'ECDSA', namedCurve: 'P-256' } },
} as const;

/** Returns the signature algorithm of a kind of key; undefined for keys that cannot sign tokens. */
export function algorithmOf({ kty, crv }: { readonly kty?: unknown; readonly crv?: unknown }) {
  const curve = isCurve(crv) ? curves[crv] : undefined;
  return curve?.kty === kty ? curve?.alg : undefined;
}

/** True for a private JWK with `kid` on the curve Ed25519 or P-256. Its numbers are not checked. */
export function isPrivateJwk(value: unknown): value is PrivateJwk {
  const { kty, crv, kid, d } = Object(value) as Partial<Record<keyof PrivateJwk, unknown>>;
  const isNamed = typeof kid === 'string' && kid !== '';
  return isNamed && typeof d === 'string' && d !== '' && algorithmOf({ kty, crv }) !== undefined;
}

/** Imports a key; rejects if its numbers are invalid or it is for another use. */
export async function importKey(jwk: PrivateJwk): Promise<SigningKey> {
  const { alg, key } = curves[jwk.crv];
  // jose would ignore the key's use, and take its operations from the file.
  return { alg, kid: jwk.kid, key: await crypto.subtle.importKey('jwk', { ...jwk }, key, false, ['sign']) };
}

/** Makes a JWT (RFC 7519) with these claims; undefined ones are omitted. */
export function sign({ alg, kid, key }: SigningKey, claims: object): Promise<string> {
  return new SignJWT({ ...claims }).setProtectedHeader({ alg, kid }).sign(key);
}

/** Makes a JWS (RFC 7515) in compact form with detached content (appendix F); `members` are added to its header. */
export async function signDetached(
  { alg, kid, key }: SigningKey,
  members: object,
  content: string,
): Promise<string> {
  const signing = new FlattenedSign(new TextEncoder().encode(content));
  const signed = await signing.setProtectedHeader({ alg, kid, ...members }).sign(key);
  return `${signed.protected}..${signed.signature}`;
}

export function claimsOf({ issuer, audience, lifetimeMs }: TokenClaims) {
  const [iat, exp] = [Date.now(), Date.now() + lifetimeMs].map(ms => Math.floor(ms / 1_000));
  return { iss: issuer, sub: issuer, aud: audience, iat, exp };
}

/** Tolerated difference between the clocks of a token's issuer and its reader, in seconds. */
export const clockToleranceS = 60;

/** The claims that are times, in seconds since the epoch. */
type TokenTimes = {
  readonly iat?: number | undefined;
  readonly nbf?: number | undefined;
  readonly exp?: number | undefined;
};

/** Describes the first of a token's times that is not accepted now, with the difference in seconds; undefined if all are. */
export function timeFault({ iat = 0, nbf = 0, exp = Infinity }: TokenTimes): string | undefined {
  const nowS = Math.floor(Date.now() / 1_000);
  const clocks = `the clock of its issuer and the clock here differ`;
  const tolerated = `at most ${clockToleranceS} s are tolerated`;
  if (iat > nowS + clockToleranceS)
    return `the token's "iat" is not accepted: it was issued ${iat - nowS} s in the future; ${clocks}, and ${tolerated}`;
  if (nbf > nowS + clockToleranceS)
    return `the token's "nbf" is not accepted: it begins ${nbf - nowS} s in the future; ${clocks}, and ${tolerated}`;
  if (exp <= nowS - clockToleranceS)
    return `the token has expired ("exp") ${nowS - exp} s ago: it is old, or ${clocks}, and ${tolerated}`;
  return undefined;
}

export async function createKey(kid: string, crv: Curve = 'Ed25519'): Promise<PrivateJwk> {
  const { alg } = curves[crv];
  const { privateKey } = await generateKeyPair(alg, { extractable: true });
  // The type of `exportJWK` does not know which members this curve has.
  return { ...(await exportJWK(privateKey)), alg, use: 'sig', kid } as unknown as PrivateJwk;
}

/** Returns the public half of a key. Its members are listed one by one, so that no private member can leak. */
export function publicHalf({ kty, crv, x, y, kid }: PrivateJwk) {
  return { kty, crv, x, ...(y !== undefined && { y }), kid, alg: curves[crv].alg, use: 'sig' } as const;
}

function isCurve(name: unknown): name is Curve {
  return typeof name === 'string' && Object.hasOwn(curves, name);
}
