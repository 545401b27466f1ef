/** A private key that signs tokens, as it lies in a file (a JWK, RFC 7517). */
export type PrivateJwk = {
  readonly kty: string;
  readonly crv: Curve;
  readonly kid: string;
  readonly x: string;
  readonly y?: string;
  readonly d: string;
  readonly alg?: string;
};

/** A private key that is ready to sign. */
export type SigningKey = { readonly alg: string; readonly kid: string; readonly key: CryptoKey };

/** Who signs a token and for whom, and how long it is good for. */
export type TokenClaims = { readonly issuer: string; readonly audience: string; readonly lifetimeMs: number };

type Curve = keyof typeof curves;

/** The curves of keys that sign, as JWKs call them: the algorithm for which each is, and what WebCrypto calls it. */
const curves = {
  Ed25519: { alg: 'EdDSA', kty: 'OKP', key: { name: 'Ed25519' }, signature: { name: 'Ed25519' } },
  'P-256': {
    alg: 'ES256',
    kty: 'EC',
    key: { name: 'ECDSA', namedCurve: 'P-256' },
    signature: { name: 'ECDSA', hash: 'SHA-256' },
  },
} as const;

/** The algorithm that a key of this kind signs with; undefined for one that signs no tokens. */
export function algorithmOf({ kty, crv }: { readonly kty?: unknown; readonly crv?: unknown }) {
  const curve = isCurve(crv) ? curves[crv] : undefined;
  return curve?.kty === kty ? curve?.alg : undefined;
}

/** Whether it is a private JWK with `kid` on the curve Ed25519 or P-256; its numbers may still be none of a key. */
export function isPrivateJwk(value: unknown): value is PrivateJwk {
  const { kty, crv, kid, d } = Object(value) as Partial<Record<keyof PrivateJwk, unknown>>;
  const isNamed = typeof kid === 'string' && kid !== '';
  return isNamed && typeof d === 'string' && d !== '' && algorithmOf({ kty, crv }) !== undefined;
}

/** Makes the key ready; rejects when its numbers are none of a key, or it is for another use. */
export async function importKey(jwk: PrivateJwk): Promise<SigningKey> {
  const { alg, key } = curves[jwk.crv];
  return { alg, kid: jwk.kid, key: await crypto.subtle.importKey('jwk', { ...jwk }, key, false, ['sign']) };
}

/** A JWT (RFC 7519) with these claims; undefined ones are left out. */
export async function sign(key: SigningKey, claims: object): Promise<string> {
  const { header, payload, signature } = await signParts(key, {}, JSON.stringify(claims));
  return `${header}.${payload}.${signature}`;
}

/** A JWS (RFC 7515) in its compact form without its content, as appendix F has it; `members` are of its header. */
export async function signDetached(key: SigningKey, members: object, content: string): Promise<string> {
  const { header, signature } = await signParts(key, members, content);
  return `${header}..${signature}`;
}

async function signParts({ alg, kid, key }: SigningKey, members: object, content: string) {
  const header = toBase64Url(JSON.stringify({ alg, kid, ...members }));
  const payload = toBase64Url(content);
  const { signature } = alg === 'EdDSA' ? curves.Ed25519 : curves['P-256'];
  const text = new TextEncoder().encode(`${header}.${payload}`);
  const bytes = await crypto.subtle.sign(signature, key, text);
  return { header, payload, signature: Buffer.from(bytes).toString('base64url') };
}

/** The claims of a token that is issued now. */
export function claimsOf({ issuer, audience, lifetimeMs }: TokenClaims) {
  const [iat, exp] = [Date.now(), Date.now() + lifetimeMs].map(ms => Math.floor(ms / 1_000));
  return { iss: issuer, sub: issuer, aud: audience, iat, exp };
}

/** A new private key with this `kid`. */
export async function makeKey(kid: string, crv: Curve = 'Ed25519'): Promise<PrivateJwk> {
  const { alg, key } = curves[crv];
  const { privateKey } = (await crypto.subtle.generateKey(key, true, ['sign', 'verify'])) as CryptoKeyPair;
  const {
    key_ops: _operations,
    ext: _extractable,
    ...jwk
  } = await crypto.subtle.exportKey('jwk', privateKey);
  return { ...jwk, alg, use: 'sig', kid } as unknown as PrivateJwk;
}

/** The public half, by which others know the key: each member is named, whatever else a private key has. */
export function publicHalf({ kty, crv, x, y, kid }: PrivateJwk) {
  return { kty, crv, x, ...(y !== undefined && { y }), kid, alg: curves[crv].alg, use: 'sig' } as const;
}

function isCurve(name: unknown): name is Curve {
  return typeof name === 'string' && Object.hasOwn(curves, name);
}

function toBase64Url(text: string): string {
  return Buffer.from(text).toString('base64url');
}
