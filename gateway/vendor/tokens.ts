import { createHash, timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createLocalJWKSet, createRemoteJWKSet, jwtVerify } from 'jose';
import { Problem } from '../../src/api/problem.ts';

/** Lets a request in by its `authorization` header, or throws UNAUTHENTICATED. */
export type Authenticate = (authorization: string | undefined) => Promise<void>;

/** Which tokens are good: those that a key of `jwks` (a file or a URL) has signed for `audience`; without both `token` alone. */
export type Tokens = {
  readonly jwks?: string | undefined;
  readonly audience?: string | undefined;
  readonly token?: string | undefined;
};

/** Makes the check of tokens; throws where nothing says which are good. */
export function createAuthenticate({ token: fixed, jwks, audience }: Tokens): Authenticate {
  const isGood = jwks && audience ? signedBy(jwks, audience) : fixed && sameAs(fixed);
  if (!isGood) throw new Error('set TOKEN, or JWKS and AUDIENCE');
  return async authorization => {
    const token = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1] ?? '';
    if (await isGood(token)) return;
    throw new Problem('UNAUTHENTICATED', 'there is no bearer token that is accepted');
  };
}

function signedBy(jwks: string, audience: string): (token: string) => Promise<boolean> {
  const keys = /^https?:/.test(jwks)
    ? createRemoteJWKSet(new URL(jwks))
    : createLocalJWKSet(JSON.parse(readFileSync(jwks, 'utf8')));
  const algorithms = ['EdDSA', 'ES256'];
  const rules = { algorithms, audience, requiredClaims: ['exp', 'iss'], clockTolerance: 10 };
  return token =>
    jwtVerify(token, keys, rules).then(
      () => true,
      () => false,
    );
}

function sameAs(fixed: string): (token: string) => Promise<boolean> {
  return async token => timingSafeEqual(digest(token), digest(fixed));
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
