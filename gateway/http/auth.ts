// The whole package, of which this is a small part, takes 3 MB more.
import type { JWTClaimValidationFailed } from 'jose/errors';
import { jwtVerify } from 'jose/jwt/verify';
import type { LocalJWKSet } from 'jose';
import { Problem } from '../../src/api/problem.ts';
import type { Caller } from '../tenancy/caller.ts';

/** Whose a key is, and what its tokens name as their issuer. */
export type KeyOwner = { readonly caller: Caller; readonly issuer: string };

/** All enrolled public keys, and whose each is, by its `kid`. A change gives another object. */
export type Enrolment = {
  readonly keySet: LocalJWKSet;
  readonly owners: ReadonlyMap<string, KeyOwner>;
};

/** Finds who sent a request from its `authorization` header; UNAUTHENTICATED says what is wrong with it. */
export type Authenticate = (authorization: string | undefined) => Promise<Caller>;

type Verified = { readonly caller: Caller; readonly untilMs: number };

const algorithms = ['EdDSA', 'ES256'];

const maxLifetimeS = 3_600;
const clockToleranceS = 10;
const maxTokenLength = 8_192;
const rememberedCap = 1_000;

/** Makes the check of tokens. A token that was found good is remembered until it expires or any key changes. */
export function createAuthenticate(current: () => Enrolment, audience: string): Authenticate {
  const remembered = new WeakMap<Enrolment, Map<string, Verified>>();
  return async authorization => {
    const token = readToken(authorization);
    const enrolment = current();
    const tokens = remembered.getOrInsertComputed(enrolment, () => new Map<string, Verified>());
    const known = tokens.get(token);
    if (known && known.untilMs > Date.now()) return known.caller;
    tokens.delete(token);
    const verified = await verify(token, enrolment, audience);
    const [oldest] = tokens.keys();
    if (oldest !== undefined && tokens.size >= rememberedCap) tokens.delete(oldest);
    tokens.set(token, verified);
    return verified.caller;
  };
}

function readToken(authorization: string | undefined): string {
  const token = /^Bearer +([\w.~+/=-]+) *$/i.exec(authorization ?? '')?.[1];
  if (token === undefined) throw unauthenticatedProblem('there is no bearer token');
  if (token.length > maxTokenLength) throw unauthenticatedProblem('the token is too long');
  return token;
}

async function verify(token: string, { keySet, owners }: Enrolment, audience: string): Promise<Verified> {
  const { payload, protectedHeader } = await jwtVerify(token, keySet, {
    algorithms,
    audience,
    requiredClaims: ['exp', 'iat', 'iss'],
    maxTokenAge: maxLifetimeS,
    clockTolerance: clockToleranceS,
  }).catch((error: unknown) => {
    throw tokenProblem(error);
  });
  const owner = owners.get(protectedHeader.kid ?? '');
  if (!owner) throw unauthenticatedProblem(noKid);
  const { exp = 0, iat = 0, iss } = payload;
  if (iss !== owner.issuer) throw unauthenticatedProblem('the token\'s "iss" is not accepted');
  if (exp - iat > maxLifetimeS)
    throw unauthenticatedProblem(`the token's "exp" is more than ${maxLifetimeS} seconds after its "iat"`);
  return { caller: { ...owner.caller, subject: protectedHeader.kid }, untilMs: exp * 1_000 };
}

const noKid = 'the token\'s header has no "kid"';
const noSuchKey = 'the token\'s "kid" is not an enrolled key, or not one for its "alg"';

const keyFaults: Readonly<Record<string, string>> = {
  ERR_JOSE_ALG_NOT_ALLOWED: noSuchKey,
  ERR_JWKS_NO_MATCHING_KEY: noSuchKey,
  ERR_JWKS_MULTIPLE_MATCHING_KEYS: noKid,
  ERR_JWS_SIGNATURE_VERIFICATION_FAILED: 'the token is not signed with the key that its "kid" names',
};

/** Names the claim that failed; says nothing of what the token holds. */
function tokenProblem(error: unknown): Problem {
  const { code = '', claim, reason } = error as Partial<JWTClaimValidationFailed>;
  const claimFaults: Readonly<Record<string, string>> = {
    ERR_JWT_EXPIRED: `the token has expired ("${claim}")`,
    ERR_JWT_CLAIM_VALIDATION_FAILED: `the token's "${claim}" is ${reason === 'missing' ? 'missing' : 'not accepted'}`,
  };
  return unauthenticatedProblem(claimFaults[code] ?? keyFaults[code] ?? 'the token is malformed', error);
}

function unauthenticatedProblem(detail: string, cause?: unknown): Problem {
  return new Problem('UNAUTHENTICATED', detail, cause);
}
