import { createHash, timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createLocalJWKSet, createRemoteJWKSet, jwtVerify } from 'jose';
import { Problem } from './problem.ts';

/** Checks `authorization`: a token signed by a key of JWKS (a file or a URL) for AUDIENCE, or, for a first try, TOKEN. */
export function createAuthenticate({ TOKEN, JWKS, AUDIENCE }: NodeJS.ProcessEnv) {
  if (!TOKEN && !(JWKS && AUDIENCE)) throw new Error('set TOKEN, or JWKS and AUDIENCE');
  const verify = JWKS && AUDIENCE ? verifyBy(JWKS, AUDIENCE) : undefined;
  return async (authorization: string | undefined): Promise<void> => {
    const token = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1] ?? '';
    const isGood = verify ? await verify(token) : timingSafeEqual(digest(token), digest(TOKEN ?? ''));
    if (!isGood) throw new Problem('UNAUTHENTICATED', 'there is no bearer token that is accepted');
  };
}

function verifyBy(keys: string, audience: string) {
  const isUrl = /^https?:/.test(keys);
  const keySet = isUrl
    ? createRemoteJWKSet(new URL(keys))
    : createLocalJWKSet(JSON.parse(readFileSync(keys, 'utf8')));
  const rules = {
    algorithms: ['EdDSA', 'ES256'],
    audience,
    requiredClaims: ['exp', 'iss'],
    clockTolerance: 10,
  };
  return (token: string): Promise<boolean> => jwtVerify(token, keySet, rules).then(Boolean, () => false);
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
