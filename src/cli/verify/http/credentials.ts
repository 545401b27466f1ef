import { claimsOf, importKey, makeKey, sign } from '../../../api/http/jwt.ts';
import { createOauth } from '../../../api/http/oauth.ts';
import { readKey } from '../../../api/http/tokens.ts';

/** Gives what stands in `authorization`; undefined where a certificate, or nothing, says who calls. */
export type Credentials = {
  header(): Promise<string | undefined> | string | undefined;
  /** A token of the caller's key with other claims or another header, or signed with a key of nobody. */
  readonly forge?: (changes: Forgery) => Promise<string>;
};

/** What a token has that a good one does not; undefined leaves a claim out. */
export type Forgery = {
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly isUnsigned?: boolean;
  readonly isOthers?: boolean;
};

/** A key that signs tokens, who they say they are from, and whom they are for. */
type KeyOptions = { readonly keyFile: string; readonly issuer: string; readonly audience: string };

/** A client of an authorization server (RFC 6749, "Client Credentials Grant"). */
type OAuthOptions = {
  readonly url: string;
  readonly client: string;
  readonly secret: string;
  readonly scope?: string | undefined;
};

/** A shorter token may stand in an answer by chance. */
export const leastTokenLength = 8;

const lifetimeMs = 300_000;
const grantTimeoutMs = 30_000;

/** Credentials that are always the same token. */
export function tokenCredentials(token: string): Credentials {
  return { header: () => `Bearer ${token}` };
}

/** Credentials that are tokens which a private JWK signs, each for five minutes; rejects with what is wrong with the key. */
export async function keyCredentials({ keyFile, ...names }: KeyOptions): Promise<Credentials> {
  const own = await readKey(keyFile);
  const stranger = await importKey(await makeKey(own.kid, own.alg === 'EdDSA' ? 'Ed25519' : 'P-256'));
  const forge = async ({ claims, isUnsigned = false, isOthers = false }: Forgery): Promise<string> => {
    const token = await sign(isOthers ? stranger : own, { ...claimsOf({ ...names, lifetimeMs }), ...claims });
    return isUnsigned ? withoutSignature(token, own.kid) : token;
  };
  return { header: async () => `Bearer ${await forge({})}`, forge };
}

/** Credentials that an authorization server gives, got again before they expire. */
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
