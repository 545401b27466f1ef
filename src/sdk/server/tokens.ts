import { createHash, timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createLocalJWKSet, createRemoteJWKSet, jwtVerify, type JWTPayload } from 'jose';
import { clockToleranceS, timeFault } from '../../api/http/jwt.ts';
import { Problem } from '../../api/problem.ts';

/** Checks a request's `authorization` header, and throws UNAUTHENTICATED when it is wrong. */
export type Authenticator = (authorization: string | undefined) => Promise<void>;

/**
 * The accepted tokens: tokens for `audience` with the signature of a key of `jwks` (a file or a URL), or else only
 * `token`.
 */
export type Tokens = {
  readonly jwks?: string | undefined;
  readonly audience?: string | undefined;
  readonly token?: string | undefined;
};

/** Creates the check of tokens. Throws when the settings accept no token at all, or one that no request can carry. */
export function createAuthenticate({ token: fixed, jwks, audience }: Tokens): Authenticator {
  const findFault = jwks && audience ? signedBy(jwks, audience) : fixed && sameAs(fixed);
  if (!findFault) throw new Error('no tokens are configured: set TOKEN, or JWKS and AUDIENCE');
  if (fixed && /\s/.test(fixed)) throw new Error('the token has spaces, which a bearer token cannot have');
  return async authorization => {
    const token = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1] ?? '';
    const fault = await findFault(token);
    if (fault !== undefined) throw new Problem('UNAUTHENTICATED', fault);
  };
}

/** Finds the fault of a token; undefined for a valid one. */
type FaultFinder = (token: string) => Promise<string | undefined>;

const notAccepted = 'the bearer token is missing or not valid';

function signedBy(jwks: string, audience: string): FaultFinder {
  const keys = /^https?:/.test(jwks)
    ? createRemoteJWKSet(new URL(jwks))
    : createLocalJWKSet(JSON.parse(readFileSync(jwks, 'utf8')));
  const algorithms = ['EdDSA', 'ES256'];
  const rules = { algorithms, audience, requiredClaims: ['exp', 'iss'], clockTolerance: clockToleranceS };
  return token =>
    jwtVerify(token, keys, rules).then(
      () => undefined,
      // The error has a payload only if the signature is right, so that a forged token learns nothing about its times.
      ({ payload }: { readonly payload?: JWTPayload }) => (payload && timeFault(payload)) ?? notAccepted,
    );
}

function sameAs(fixed: string): FaultFinder {
  return async token => (timingSafeEqual(digest(token), digest(fixed)) ? undefined : notAccepted);
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
