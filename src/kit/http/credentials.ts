import { claimsOf, importKey, createKey, sign } from '../../api/http/jwt.ts';
import { createOauth } from '../../api/http/oauth.ts';
import { readKey } from '../../api/http/tokens.ts';

export type Credentials = {
  /** Makes the value of the `authorization` header; undefined when a client certificate, or nothing, authenticates the kit. */
  header(): Promise<string | undefined> | string | undefined;
  /** Makes a wrong token. Absent when the kit has no key. */
  readonly forge?: (changes: Forgery) => Promise<string>;
};

/** The changes that make a token wrong. */
export type Forgery = {
  /** Claims that replace the right ones; undefined leaves a claim out. */
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly isUnsigned?: boolean;
  /** True to sign with a key that the vendor does not know. */
  readonly hasUnknownKey?: boolean;
};

/** A private key, and the issuer and audience of the tokens that it signs. */
type KeyOptions = { readonly keyFile: string; readonly issuer: string; readonly audience: string };

/** A client of an authorization server (RFC 6749, "Client Credentials Grant"). */
type OAuthOptions = {
  readonly url: string;
  readonly client: string;
  readonly secret: string;
  readonly scope?: string | undefined;
};

/** Min length of a token that an answer cannot contain by chance. */
export const minTokenLength = 8;

const lifetimeMs = 300_000;
const grantTimeoutMs = 30_000;

export function tokenCredentials(token: string): Credentials {
  return { header: () => `Bearer ${token}` };
}

/** Makes credentials that sign tokens, each for five minutes, with a private JWK. Throws when the key file is faulty. */
export async function keyCredentials({ keyFile, ...names }: KeyOptions): Promise<Credentials> {
  const own = await readKey(keyFile);
  const stranger = await importKey(await createKey(own.kid, own.alg === 'EdDSA' ? 'Ed25519' : 'P-256'));
  const forge = async ({ claims, isUnsigned = false, hasUnknownKey = false }: Forgery): Promise<string> => {
    const key = hasUnknownKey ? stranger : own;
    const token = await sign(key, { ...claimsOf({ ...names, lifetimeMs }), ...claims });
    return isUnsigned ? withoutSignature(token, own.kid) : token;
  };
  return { header: async () => `Bearer ${await forge({})}`, forge };
}

/** Makes credentials that fetch tokens from an authorization server, and renew them before they expire. */
export function oauthCredentials({ secret, client, ...server }: OAuthOptions): Credentials {
  const token = createOauth({ ...server, clientId: client, secret: () => secret, timeoutMs: grantTimeoutMs });
  const get = async (): Promise<string> => token(false);
  const named = (error: Error): never => {
    throw new Error(`"${server.url}": ${error.message}`, { cause: error });
  };
  return { header: async () => `Bearer ${await get().catch(named)}` };
}

function withoutSignature(token: string, kid: string): string {
  const head = Buffer.from(JSON.stringify({ alg: 'none', typ: 'JWT', kid })).toString('base64url');
  return `${head}.${token.split('.')[1]}.`;
}
