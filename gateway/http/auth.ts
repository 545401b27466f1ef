import { decodeProtectedHeader, errors, jwtVerify, type CryptoKey } from 'jose';
import { Problem } from '../../src/api/problem.ts';

/** A cluster that may use the gateway. Who it is, only its enrolled keys tell. */
export type Cluster = {
  readonly name: string;
  readonly issuer: string;
  /** Volumes may be attached to nodes that the cluster has not told of. */
  readonly acceptAnyNode: boolean;
};

/** The algorithms that a token may be signed with. */
export type Algorithm = 'EdDSA' | 'ES256';

/** One public key and whose it is. */
export type EnrolledKey = {
  readonly cluster: Cluster;
  readonly key: CryptoKey;
  readonly algorithm: Algorithm;
};

/** All enrolled keys by their `kid`. */
export type Enrolment = ReadonlyMap<string, EnrolledKey>;

/** Knows which clusters are enrolled. A change gives another object, so that it can be told from the one before. */
export interface Clusters {
  current(): Promise<Enrolment>;
}

/** Tells which cluster sent a request from its `authorization` header; UNAUTHENTICATED says what is wrong with it. */
export type Authenticate = (authorization: string | undefined) => Promise<Cluster>;

type Verified = { readonly cluster: Cluster; readonly untilMs: number };

const maxLifetimeS = 3_600;
const clockToleranceS = 10;
const maxTokenLength = 8_192;
const rememberedCap = 1_000;

/** Makes the check of tokens. A token that was found good is remembered until it expires or any key changes. */
export function createAuthenticate(clusters: Clusters, audience: string): Authenticate {
  const remembered = new Map<string, Verified>();
  let rememberedFor: Enrolment | undefined;
  return async authorization => {
    const token = readToken(authorization);
    const enrolment = await clusters.current();
    if (enrolment !== rememberedFor) remembered.clear();
    rememberedFor = enrolment;
    const known = remembered.get(token);
    if (known && known.untilMs > Date.now()) return known.cluster;
    remembered.delete(token);
    const verified = await verify(token, enrolment, audience);
    if (enrolment === rememberedFor) remember(remembered, token, verified);
    return verified.cluster;
  };
}

function readToken(authorization: string | undefined): string {
  const token = /^Bearer +([\w.~+/=-]+) *$/i.exec(authorization ?? '')?.[1];
  if (token === undefined) throw refuse('there is no bearer token');
  if (token.length > maxTokenLength) throw refuse('the token is too long');
  return token;
}

async function verify(token: string, enrolment: Enrolment, audience: string): Promise<Verified> {
  const { cluster, key, algorithm } = findKey(token, enrolment);
  try {
    const { payload } = await jwtVerify(token, key, {
      algorithms: [algorithm],
      audience,
      issuer: cluster.issuer,
      requiredClaims: ['exp', 'iat'],
      maxTokenAge: maxLifetimeS,
      clockTolerance: clockToleranceS,
    });
    const { exp = 0, iat = 0 } = payload;
    if (exp - iat > maxLifetimeS)
      throw refuse(`the token's "exp" is more than ${maxLifetimeS} seconds after its "iat"`);
    return { cluster, untilMs: exp * 1_000 };
  } catch (error) {
    throw describe(error);
  }
}

function findKey(token: string, enrolment: Enrolment): EnrolledKey {
  let kid: unknown;
  try {
    ({ kid } = decodeProtectedHeader(token));
  } catch (error) {
    throw refuse('the token is malformed', error);
  }
  if (typeof kid !== 'string') throw refuse('the token\'s header has no "kid"');
  const enrolled = enrolment.get(kid);
  if (!enrolled) throw refuse('the token\'s "kid" is not the key of an enrolled cluster');
  return enrolled;
}

function remember(tokens: Map<string, Verified>, token: string, verified: Verified): void {
  const [oldest] = tokens.keys();
  if (oldest !== undefined && tokens.size >= rememberedCap) tokens.delete(oldest);
  tokens.set(token, verified);
}

/** Names the claim that failed; says nothing of what the token holds. */
function describe(error: unknown): Problem {
  if (error instanceof Problem) return error;
  if (error instanceof errors.JWTExpired) return refuse(`the token has expired ("${error.claim}")`, error);
  if (error instanceof errors.JWTClaimValidationFailed)
    return refuse(
      `the token's "${error.claim}" is ${error.reason === 'missing' ? 'missing' : 'not accepted'}`,
      error,
    );
  if (error instanceof errors.JOSEAlgNotAllowed)
    return refuse('the token\'s "alg" is not the one of its key', error);
  if (error instanceof errors.JWSSignatureVerificationFailed)
    return refuse('the token is not signed with the key that its "kid" names', error);
  return refuse('the token is malformed', error);
}

function refuse(detail: string, cause?: unknown): Problem {
  return new Problem('UNAUTHENTICATED', detail, cause);
}
