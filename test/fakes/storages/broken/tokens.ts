import { readFileSync } from 'node:fs';
import { createLocalJWKSet, decodeJwt, decodeProtectedHeader, jwtVerify, type JWTVerifyOptions } from 'jose';
import { Problem } from '../../../../src/sdk/server/vendor.ts';
import type { Breakage } from '../breakage.ts';

/** Faults of authentication. */
export const tokens = {
  'any-token': {
    wrong: 'any token is accepted',
    caughtBy: 'FL-2.1-2',
    authenticate: right => async authorization => {
      if (!authorization) await right(authorization);
    },
  },
  'no-token': {
    wrong: 'a request without a token is served',
    caughtBy: 'FL-2.1-1',
    authenticate: right => async authorization => {
      if (authorization) await right(authorization);
    },
  },
  'token-unsigned': {
    wrong: 'the signature of tokens is not checked',
    caughtBy: 'FL-2.1-3',
    needs: 'key',
    authenticate: right => async authorization => {
      const token = tokenOf(authorization);
      const isSigned = /^[\w-]+\.[\w-]+\.[\w-]+$/.test(token) && decodeProtectedHeader(token).alg !== 'none';
      const { exp = 0, aud } = isSigned ? decodeJwt(token) : {};
      if (exp * 1_000 < Date.now() || aud !== process.env['AUDIENCE']) await right(authorization);
    },
  },
  'token-of-none': {
    wrong: 'an unsigned token (alg none) is accepted',
    caughtBy: 'FL-2.1-4',
    needs: 'key',
    authenticate: right => async authorization => {
      const [header = ''] = tokenOf(authorization).split('.');
      if (!/"none"/i.test(Buffer.from(header, 'base64url').toString())) await right(authorization);
    },
  },
  'token-expired': {
    wrong: 'an expired token is accepted',
    caughtBy: 'FL-2.1-5',
    needs: 'key',
    authenticate: () => verifyWith({ audience: process.env['AUDIENCE'] ?? '', currentDate: new Date(0) }),
  },
  'token-for-others': {
    wrong: 'a token for another audience is accepted',
    caughtBy: 'FL-2.1-6',
    needs: 'key',
    authenticate: () => verifyWith({ requiredClaims: ['exp'] }),
  },
} as const satisfies Readonly<Record<string, Breakage>>;

function tokenOf(authorization: string | undefined): string {
  return /^Bearer (\S+)$/i.exec(authorization ?? '')?.[1] ?? '';
}

/** Verifies tokens as the reference vendor does, with other rules. */
function verifyWith(rules: JWTVerifyOptions) {
  const keys = createLocalJWKSet(JSON.parse(readFileSync(process.env['JWKS'] ?? '', 'utf8')));
  return async (authorization: string | undefined): Promise<void> => {
    await jwtVerify(tokenOf(authorization), keys, rules).catch(() => {
      throw new Problem('UNAUTHENTICATED', 'the token is not accepted');
    });
  };
}
