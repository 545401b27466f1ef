// The whole package, of which these are small parts, takes 3 MB more.
import type { JWTClaimValidationFailed } from 'jose/errors';
import { decodeProtectedHeader } from 'jose/decode/protected_header';
import { decodeJwt } from 'jose/jwt/decode';
import { jwtVerify } from 'jose/jwt/verify';
import type { JWTHeaderParameters, JWTPayload, JWTVerifyGetKey } from 'jose';
import { Problem } from '../../src/api/problem.ts';
import { startTimeLimit } from '../../src/lib/concurrency.ts';
import type { Caller } from '../tenancy/caller.ts';

/** Whose a key is, and what its tokens name as their issuer. */
export type KeyOwner = { readonly caller: Caller; readonly issuer: string };

/**
 * Who calls with tokens that somebody else signs: a Kubernetes cluster for its service accounts, an OpenID provider for
 * people. Such a token names the issuer, one of the subjects, and the audience alone; without one here: the gateway's.
 */
export type Trusted = KeyOwner & {
  readonly audience?: string | undefined;
  readonly subjects: readonly string[];
  /** Gives the issuer's key of a `kid`. */
  readonly keys: JWTVerifyGetKey;
};

/** All enrolled public keys, and whose each is, by its `kid`; and who else signs, by issuer. A change gives another object. */
export type Enrolment = {
  readonly keySet: JWTVerifyGetKey;
  readonly owners: ReadonlyMap<string, KeyOwner>;
  /** Clusters may share an issuer's name: whose a token is the keys decide. */
  readonly trusted: ReadonlyMap<string, readonly Trusted[]>;
};

/** Finds who sent a request from its `authorization` header; UNAUTHENTICATED says what is wrong with it. */
export type Authenticate = (authorization: string | undefined) => Caller | Promise<Caller>;

type Verified = { readonly caller: Caller; readonly isOver: () => boolean };

const clockToleranceS = 10;
const maxTokenLength = 8_192;
const rememberedCap = 1_000;

/** What holds for tokens that callers sign with keys of their own, and for those that others sign for them. */
const own = { algorithms: ['EdDSA', 'ES256'], maxLifetimeS: 3_600, rememberMs: Infinity };
/** The keys of others are looked at again while their tokens are in use. */
const others = { algorithms: ['RS256', 'ES256'], maxLifetimeS: 86_400, rememberMs: 30_000 };

/** Makes the check of tokens. A token that was found good is remembered until it expires or any key changes. */
export function createAuthenticate(current: () => Enrolment, audience: string): Authenticate {
  /** By the whole header. */
  const remembered = new WeakMap<Enrolment, Map<string, Verified>>();
  const nobody = () => new Map<string, Verified>();

  async function find(authorization: string, enrolment: Enrolment): Promise<Caller> {
    const verified = await verify(readToken(authorization), enrolment, audience);
    const known = remembered.getOrInsertComputed(enrolment, nobody);
    const [oldest] = known.keys();
    if (oldest !== undefined && known.size >= rememberedCap) known.delete(oldest);
    known.set(authorization, verified);
    return verified.caller;
  }

  return (authorization = '') => {
    const enrolment = current();
    const known = remembered.get(enrolment);
    const verified = known?.get(authorization);
    if (verified && !verified.isOver()) return verified.caller;
    known?.delete(authorization);
    return find(authorization, enrolment);
  };
}

function readToken(authorization: string): string {
  const token = /^Bearer +([\w.~+/=-]+) *$/i.exec(authorization)?.[1];
  if (token === undefined) throw unauthenticatedProblem('there is no bearer token');
  if (token.length > maxTokenLength) throw unauthenticatedProblem('the token is too long');
  return token;
}

/** One way in which a token may be good. */
type Way = typeof own & {
  readonly getKey: JWTVerifyGetKey;
  readonly audience: string;
  /** Throws what else is wrong with a token that one of the keys has signed. */
  readonly callerOf: (claims: JWTPayload, header: JWTHeaderParameters) => Caller;
};

/** Whose the token is: of those who share its issuer, the one whose key has signed it. */
async function verify(token: string, enrolment: Enrolment, audience: string): Promise<Verified> {
  const tried = await Promise.allSettled(waysOf(token, enrolment, audience).map(way => verifyBy(token, way)));
  const [found, other] = tried.filter(one => one.status === 'fulfilled');
  if (other) throw unauthenticatedProblem('the token is good for more than one caller');
  if (found) return found.value;
  const faults = tried.filter(one => one.status === 'rejected').map(({ reason }) => reason as Problem);
  throw faults.toSorted((one, another) => rankOf(one) - rankOf(another))[0];
}

function waysOf(token: string, enrolment: Enrolment, audience: string): readonly Way[] {
  const { iss = '', kid = '' } = readNames(token);
  const { owners, trusted } = enrolment;
  const byOthers = (trusted.get(iss) ?? []).map(one => signedForCaller(one, audience));
  if (byOthers.length > 0 && owners.get(kid)?.issuer !== iss) return byOthers;
  const isNobodys = !owners.has(kid) && owners.values().every(({ issuer }) => issuer !== iss);
  if (isNobodys && kid !== '') throw unauthenticatedProblem(nobodys, { code: 'ERR_JWKS_NO_MATCHING_KEY' });
  return [...byOthers, signedByCaller(enrolment, audience)];
}

function signedByCaller({ keySet, owners }: Enrolment, audience: string): Way {
  return {
    ...own,
    getKey: keySet,
    audience,
    callerOf(claims, header) {
      const owner = owners.get(header.kid ?? '');
      if (!owner) throw unauthenticatedProblem(noKid);
      if (claims.iss !== owner.issuer) throw claimProblem('iss');
      return { ...owner.caller, subject: header.kid };
    },
  };
}

function signedForCaller({ keys, audience, subjects, caller }: Trusted, usualAudience: string): Way {
  return {
    ...others,
    getKey: keys,
    audience: audience ?? usualAudience,
    callerOf({ sub = '', aud }) {
      if (!subjects.includes(sub)) throw claimProblem('sub');
      if ([aud].flat().length !== 1) throw claimProblem('aud');
      return { ...caller, subject: sub };
    },
  };
}

/** What the token says of itself, before anything of it is proved. */
function readNames(token: string): { readonly iss?: string | undefined; readonly kid?: string | undefined } {
  try {
    return { iss: decodeJwt(token).iss, kid: decodeProtectedHeader(token).kid };
  } catch {
    return {};
  }
}

async function verifyBy(token: string, way: Way): Promise<Verified> {
  const { getKey, algorithms, audience, maxLifetimeS, rememberMs } = way;
  const { payload, protectedHeader } = await jwtVerify(token, getKey, {
    algorithms,
    audience,
    requiredClaims: ['exp', 'iat', 'iss'],
    maxTokenAge: maxLifetimeS,
    clockTolerance: clockToleranceS,
  }).catch((error: unknown) => {
    throw error instanceof Problem ? error : tokenProblem(error);
  });
  const caller = way.callerOf(payload, protectedHeader);
  const { exp = 0, iat = 0 } = payload;
  if (exp - iat > maxLifetimeS)
    throw unauthenticatedProblem(`the token's "exp" is more than ${maxLifetimeS} seconds after its "iat"`);
  return { caller, isOver: startTimeLimit(Math.min(exp * 1_000 - Date.now(), rememberMs)) };
}

/** What tells most comes first: what was found once the signature was good, then that keys could not be had. */
function rankOf({ code, cause }: Problem): number {
  if (code === 'UNAVAILABLE') return 1;
  return Object.hasOwn(keyFaults, String(Object(cause).code)) ? 2 : 0;
}

const noKid = 'the token\'s header has no "kid"';
const nobodys = 'the token\'s "kid" is not an enrolled key, and its "iss" is nobody\'s';
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

function claimProblem(name: string): Problem {
  return unauthenticatedProblem(`the token's "${name}" is not accepted`, {
    code: 'ERR_JWT_CLAIM_VALIDATION_FAILED',
  });
}

function unauthenticatedProblem(detail: string, cause?: unknown): Problem {
  return new Problem('UNAUTHENTICATED', detail, cause);
}
