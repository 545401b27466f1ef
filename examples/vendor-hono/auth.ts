import { createHash, timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createLocalJWKSet, createRemoteJWKSet, jwtVerify } from 'jose';
import { Problem } from './problem.ts';

/** Checks `authorization`: a token signed by a key of JWKS (a file or a URL) for AUDIENCE, or, for a first try, TOKEN. */
export function createAuthenticate({ TOKEN = '', JWKS, AUDIENCE }: NodeJS.ProcessEnv) {
  const keys = JWKS && AUDIENCE && readKeys(JWKS);
  if (!keys && !TOKEN) throw new Error('set TOKEN, or JWKS and AUDIENCE');
  const algorithms = ['EdDSA', 'ES256'];
  const rules = { algorithms, audience: AUDIENCE ?? '', requiredClaims: ['exp', 'iss'], clockTolerance: 10 };
  return async (authorization = ''): Promise<void> => {
    const token = /^Bearer +(\S+)$/i.exec(authorization)?.[1] ?? '';
    const isSigned = keys && (await jwtVerify(token, keys, rules).catch(() => undefined));
    if (keys ? isSigned : timingSafeEqual(digest(token), digest(TOKEN))) return;
    throw new Problem('UNAUTHENTICATED', 'there is no bearer token that is accepted');
  };
}

const readKeys = (keys: string) =>
  /^https?:/.test(keys)
    ? createRemoteJWKSet(new URL(keys))
    : createLocalJWKSet(JSON.parse(readFileSync(keys, 'utf8')));

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
