// These parts of jose take 3 MB less than the whole package.
import type { JWTClaimValidationFailed } from 'jose/errors';
import { decodeProtectedHeader } from 'jose/decode/protected_header';
import { decodeJwt } from 'jose/jwt/decode';
import { jwtVerify } from 'jose/jwt/verify';
import type { JWTHeaderParameters, JWTPayload, JWTVerifyGetKey } from 'jose';
import { clockToleranceS, timeFault } from '../../src/api/http/jwt.ts';
import { Problem } from '../../src/api/problem.ts';
import { startTimeLimit } from '../../src/lib/concurrency.ts';
import type { Caller } from './caller.ts';

export type KeyOwner = {
  readonly caller: Caller;
  readonly issuer: string;
};

/** The owner of an enrolled key. `material` is the key itself, as text. */
export type EnrolledOwner = KeyOwner & { readonly material: string };

/**
 * A caller whose tokens another party signs: a Kubernetes cluster for its service accounts, or an OpenID
 * provider for people. Such a token names the issuer, one of the subjects, and only the audience; undefined
 * `audience` is the gateway's.
 */
export type TrustedCaller = KeyOwner & {
  readonly audience?: string | undefined;
  readonly subjects: readonly string[];
  readonly keys: JWTVerifyGetKey;
  /** The registration of the console at the provider; absent: it has none. */
  readonly console?: ConsoleClient | undefined;
};

/** A registration at an OpenID provider: `url` is the gateway's address for browsers. */
export type ConsoleClient = {
  readonly clientId: string;
  readonly url: string;
  /** The path of the file with the client's secret; undefined for a public client. */
  readonly secretFile?: string | undefined;
};

/** All enrolled keys with the owner of each by its `kid`, and the trusted issuers. Every change makes a new object. */
export type Enrolment = {
  readonly keySet: JWTVerifyGetKey;
  readonly owners: ReadonlyMap<string, EnrolledOwner>;
  /** By issuer. Callers may share an issuer; then the key that signed a token decides. */
  readonly trusted: ReadonlyMap<string, readonly TrustedCaller[]>;
};

/** Finds the caller from the `authorization` header. UNAUTHENTICATED says why it is refused. */
export type Authenticator = (authorization: string | undefined) => Caller | Promise<Caller>;

type VerifiedToken = { readonly caller: Caller; readonly isOver: () => boolean };

const maxTokenLength = 8_192;
const maxRemembered = 1_000;

/** The rules for tokens that callers sign with their own keys. */
const ownRules = { algorithms: ['EdDSA', 'ES256'], maxLifetimeS: 3_600, rememberMs: Infinity };
export const trustedAlgorithms = ['RS256', 'ES256'];
/** The rules for tokens of trusted issuers. An issuer's keys are checked again while its tokens are in use. */
const trustedRules = { algorithms: trustedAlgorithms, maxLifetimeS: 86_400, rememberMs: 30_000 };

/** Creates the check of tokens. A good token is remembered until it expires or any key changes. */
export function createAuthenticate(current: () => Enrolment, audience: string): Authenticator {
  /** By the whole header. */
  const remembered = new WeakMap<Enrolment, Map<string, VerifiedToken>>();
  const createMemory = () => new Map<string, VerifiedToken>();

  async function find(authorization: string, enrolment: Enrolment): Promise<Caller> {
    const verified = await verify(readToken(authorization), enrolment, audience);
    const known = remembered.getOrInsertComputed(enrolment, createMemory);
    const [oldest] = known.keys();
    if (oldest !== undefined && known.size >= maxRemembered) known.delete(oldest);
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
  if (token === undefined)
    throw unauthenticatedProblem('there is no bearer token; send the header "authorization: Bearer TOKEN"');
  if (token.length > maxTokenLength)
    throw unauthenticatedProblem(`the token has ${token.length} characters, more than ${maxTokenLength}`);
  return token;
}

type SigningRule = typeof ownRules & {
  readonly getKey: JWTVerifyGetKey;
  readonly audience: string;
  /** Throws the fault of a token that one of the keys has signed. */
  readonly callerOf: (claims: JWTPayload, header: JWTHeaderParameters) => Caller;
};

/** Finds the caller by the key that signed the token. Several callers may share its issuer. */
async function verify(token: string, enrolment: Enrolment, audience: string): Promise<VerifiedToken> {
  const tried = await Promise.allSettled(
    rulesOf(token, enrolment, audience).map(rule => verifyBy(token, rule)),
  );
  const [found, other] = tried.filter(one => one.status === 'fulfilled');
  if (other)
    throw unauthenticatedProblem(
      'the token is valid for more than one caller; enrol its key or subject only once',
    );
  if (found) return found.value;
  const faults = tried.filter(one => one.status === 'rejected').map(({ reason }) => reason as Problem);
  throw faults.toSorted((one, another) => rankOf(one) - rankOf(another))[0];
}

function rulesOf(token: string, enrolment: Enrolment, audience: string): readonly SigningRule[] {
  const { iss = '', kid = '' } = readNames(token);
  const { owners, trusted } = enrolment;
  const byOthers = (trusted.get(iss) ?? []).map(one => signedForCaller(one, audience));
  if (byOthers.length > 0 && owners.get(kid)?.issuer !== iss) return byOthers;
  const isUnknown = !owners.has(kid) && owners.values().every(({ issuer }) => issuer !== iss);
  if (isUnknown && kid !== '')
    throw unauthenticatedProblem(unknownIssuer, { code: 'ERR_JWKS_NO_MATCHING_KEY' });
  return [...byOthers, signedByCaller(enrolment, audience)];
}

function signedByCaller({ keySet, owners }: Enrolment, audience: string): SigningRule {
  return {
    ...ownRules,
    getKey: keySet,
    audience,
    callerOf(claims, header) {
      const owner = owners.get(header.kid ?? '');
      if (!owner) throw unauthenticatedProblem(noKid);
      if (claims.iss !== owner.issuer) throw issuerProblem(owner);
      return { ...owner.caller, subject: header.kid };
    },
  };
}

function signedForCaller(
  { keys, audience, subjects, caller }: TrustedCaller,
  defaultAudience: string,
): SigningRule {
  return {
    ...trustedRules,
    getKey: keys,
    audience: audience ?? defaultAudience,
    callerOf({ sub = '', aud }) {
      if (!subjects.includes(sub)) throw claimProblem('sub');
      if ([aud].flat().length !== 1) throw claimProblem('aud');
      return { ...caller, subject: sub };
    },
  };
}

/** Reads the token's own names before its signature is checked. */
function readNames(token: string): { readonly iss?: string | undefined; readonly kid?: string | undefined } {
  try {
    return { iss: decodeJwt(token).iss, kid: decodeProtectedHeader(token).kid };
  } catch {
    return {};
  }
}

async function verifyBy(token: string, rule: SigningRule): Promise<VerifiedToken> {
  const { getKey, algorithms, audience, maxLifetimeS, rememberMs } = rule;
  const { payload, protectedHeader } = await jwtVerify(token, getKey, {
    algorithms,
    audience,
    requiredClaims: ['exp', 'iat', 'iss'],
    maxTokenAge: maxLifetimeS,
    clockTolerance: clockToleranceS,
  }).catch((error: unknown) => {
    throw error instanceof Problem ? error : tokenProblem(error);
  });
  const caller = rule.callerOf(payload, protectedHeader);
  const { exp = 0, iat = 0 } = payload;
  if (exp - iat > maxLifetimeS)
    throw unauthenticatedProblem(`the token's "exp" is more than ${maxLifetimeS} seconds after its "iat"`);
  return { caller, isOver: startTimeLimit(Math.min(exp * 1_000 - Date.now(), rememberMs)) };
}

/** Puts the most useful fault first: one found after the signature was good, then keys that could not be read. */
function rankOf({ code, cause }: Problem): number {
  if (code === 'UNAVAILABLE') return 1;
  return Object.hasOwn(keyFaults, String(Object(cause).code)) ? 2 : 0;
}

const noKid = 'the token\'s header has no "kid"';
const unknownIssuer =
  'the token\'s "kid" is not an enrolled key, and its "iss" is not the name of a configured issuer';
const unusableKey = 'the token\'s "kid" is not an enrolled key, or cannot be used with its "alg"';

const keyFaults: Readonly<Record<string, string>> = {
  ERR_JOSE_ALG_NOT_ALLOWED: unusableKey,
  ERR_JWKS_NO_MATCHING_KEY: unusableKey,
  ERR_JWKS_MULTIPLE_MATCHING_KEYS: noKid,
  ERR_JWS_SIGNATURE_VERIFICATION_FAILED: 'the token is not signed with the key that its "kid" names',
};

/** Names the claim that failed and the error of a time, and nothing else of the token. */
function tokenProblem(error: unknown): Problem {
  const { code = '', claim, reason, payload } = error as Partial<JWTClaimValidationFailed>;
  const isOfTime = reason === 'check_failed' && ['iat', 'nbf', 'exp'].includes(claim ?? '');
  const late = isOfTime && payload ? timeFault(payload) : undefined;
  if (late !== undefined) return unauthenticatedProblem(late, error);
  const claimFaults: Readonly<Record<string, string>> = {
    ERR_JWT_EXPIRED: `the token has expired ("${claim}")`,
    ERR_JWT_CLAIM_VALIDATION_FAILED: `the token's "${claim}" is ${reason === 'missing' ? 'missing' : 'not accepted'}`,
  };
  return unauthenticatedProblem(claimFaults[code] ?? keyFaults[code] ?? 'the token is malformed', error);
}

/** Names the owner of the key, which has signed the token. */
function issuerProblem({ caller, issuer }: KeyOwner): Problem {
  const owner = caller.cluster
    ? `that of cluster "${caller.cluster.name}", not an operator's`
    : "an operator's";
  const remedy = caller.cluster
    ? 'operators use a key of the file that "operators.keys" of the configuration names'
    : 'clusters use the key of their own entry';
  return claimProblem('iss', `: its key is ${owner}, and needs the "iss" "${issuer}"; ${remedy}`);
}

function claimProblem(name: string, more = ''): Problem {
  return unauthenticatedProblem(`the token's "${name}" is not accepted${more}`, {
    code: 'ERR_JWT_CLAIM_VALIDATION_FAILED',
  });
}

function unauthenticatedProblem(detail: string, cause?: unknown): Problem {
  return new Problem('UNAUTHENTICATED', detail, cause);
}
