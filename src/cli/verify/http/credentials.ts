import {
  createPrivateKey,
  generateKeyPairSync,
  sign,
  type JsonWebKeyInput,
  type KeyObject,
} from 'node:crypto';
import { readFileSync } from 'node:fs';
import { parseJson } from '../../../lib/json.ts';

/** Gives what stands in `authorization`; undefined where a certificate, or nothing, says who calls. */
export type Credentials = {
  header(): Promise<string | undefined> | string | undefined;
  /** A token of the caller's key with other claims or another header, or signed with a key of nobody. */
  readonly forge?: (changes: Forgery) => string;
};

/** What a token has that a good one does not; undefined leaves a claim out. */
export type Forgery = {
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly isUnsigned?: boolean;
  readonly isOthers?: boolean;
};

/** A key that signs tokens, who they say they are from, and whom they are for. */
export type KeyOptions = { readonly keyFile: string; readonly issuer: string; readonly audience: string };

/** A client of an authorization server (RFC 6749, "Client Credentials Grant"). */
export type OAuthOptions = {
  readonly url: string;
  readonly client: string;
  readonly secret: string;
  readonly scope?: string | undefined;
};

/** A shorter token may stand in an answer by chance. */
export const leastTokenLength = 8;

const lifetimeS = 300;
const renewBeforeMs = 30_000;

/** Credentials that are always the same token. */
export function tokenCredentials(token: string): Credentials {
  return { header: () => `Bearer ${token}` };
}

/** Credentials that are tokens which a private JWK signs, each for five minutes; throws what is wrong with the key. */
export function keyCredentials({ keyFile, issuer, audience }: KeyOptions): Credentials {
  const jwk = Object(parseJson(readFileSync(keyFile, 'utf8'))) as JsonWebKeyInput['key'] & {
    readonly kid?: string;
  };
  const { crv, kid } = jwk;
  if (!jwk.d || !kid || (crv !== 'Ed25519' && crv !== 'P-256'))
    throw new Error(`key file "${keyFile}" is not a private JWK with kid on the curve Ed25519 or P-256`);
  const own = createPrivateKey({ key: jwk, format: 'jwk' });
  const alg = crv === 'Ed25519' ? 'EdDSA' : 'ES256';
  const forge = ({ claims, isUnsigned = false, isOthers = false }: Forgery): string => {
    const nowS = Math.floor(Date.now() / 1_000);
    const good = { iss: issuer, sub: issuer, aud: audience, iat: nowS, exp: nowS + lifetimeS };
    const head = { alg: isUnsigned ? 'none' : alg, typ: 'JWT', kid };
    const text = [head, { ...good, ...claims }].map(toBase64).join('.');
    if (isUnsigned) return `${text}.`;
    return `${text}.${signatureOf(text, isOthers ? strangerOf(crv) : own)}`;
  };
  return { header: () => `Bearer ${forge({})}`, forge };
}

/** Credentials that an authorization server gives, got again before they expire. */
export function oauthCredentials(options: OAuthOptions): Credentials {
  let known: { readonly token: string; readonly untilMs: number } | undefined;
  return {
    async header() {
      if (!known || known.untilMs < Date.now() + renewBeforeMs) known = await getToken(options);
      return `Bearer ${known.token}`;
    },
  };
}

async function getToken({ url, client, secret, scope }: OAuthOptions) {
  const basic = Buffer.from(`${encodeURIComponent(client)}:${encodeURIComponent(secret)}`).toString('base64');
  const body = new URLSearchParams({ grant_type: 'client_credentials', ...(scope && { scope }) });
  const headers = { authorization: `Basic ${basic}` };
  const response = await fetch(url, { method: 'POST', body, headers, redirect: 'error' });
  const answer = Object(parseJson(await response.text())) as Readonly<Record<string, unknown>>;
  const { access_token: token, expires_in: seconds = 60 } = answer;
  if (!response.ok || typeof token !== 'string')
    throw new Error(`"${url}" gives no token: it answers ${response.status}`);
  return { token, untilMs: Date.now() + Number(seconds) * 1_000 };
}

function toBase64(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

function signatureOf(text: string, key: KeyObject): string {
  const algorithm = key.asymmetricKeyType === 'ed25519' ? null : 'sha256';
  return sign(algorithm, Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url');
}

function strangerOf(crv: 'Ed25519' | 'P-256'): KeyObject {
  return crv === 'Ed25519'
    ? generateKeyPairSync('ed25519').privateKey
    : generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
}
