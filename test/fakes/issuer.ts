import { createHash } from 'node:crypto';
import { createServer, type ServerResponse } from 'node:http';
import type { TestContext } from 'node:test';
import { exportJWK, generateKeyPair, SignJWT, type CryptoKey, type JWK } from 'jose';
import { listen } from '../harness/listen.ts';

export type IssuerKey = {
  readonly alg: string;
  readonly publicJwk: JWK;
  readonly privateJwk: JWK;
  readonly privateKey: CryptoKey;
};

/** Makes a key; many tests may share one, since RSA keys take long to make. */
export async function makeIssuerKey(kid: string, alg = 'RS256'): Promise<IssuerKey> {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
  const named = { kid, alg, use: 'sig' };
  return {
    alg,
    publicJwk: { ...(await exportJWK(publicKey)), ...named },
    privateJwk: { ...(await exportJWK(privateKey)), ...named },
    privateKey,
  };
}

/** Makes the RSA key with the exponent 1 and this modulus: every message is its own signature. */
export function withExponentOne({ publicJwk, ...key }: IssuerKey): IssuerKey {
  return { ...key, publicJwk: { ...publicJwk, e: 'AQ' } };
}

/** Makes a token for an RSA key with the exponent 1, without a private key. */
export async function forgeFor(issuer: string, key: IssuerKey): Promise<string> {
  const [head = '', claims = ''] = (await signAs(issuer, key)).split('.');
  const digest = createHash('sha256').update(`${head}.${claims}`).digest('hex');
  // The RSASSA-PKCS1-v1_5 encoding of a SHA-256 digest for a modulus of 256 bytes (RFC 8017).
  const encoded = `0001${'ff'.repeat(202)}003031300d060960864801650304020105000420${digest}`;
  return `${head}.${claims}.${Buffer.from(encoded, 'hex').toString('base64url')}`;
}

/** The service account of controllers in these tests. */
export const account = 'system:serviceaccount:fairlead:controller';

/** The differences from a usual token: claims (undefined removes one), and header members. */
export type TokenChanges = Readonly<Record<string, unknown>> & { readonly header?: object };

/** Makes a token as a Kubernetes API server issues it to a pod. */
export function signAs(
  issuer: string,
  { alg, publicJwk, privateKey }: IssuerKey,
  { header, ...claims }: TokenChanges = {},
): Promise<string> {
  const nowS = Math.floor(Date.now() / 1_000);
  const usual = { iss: issuer, sub: account, aud: ['fairlead'], iat: nowS, nbf: nowS, exp: nowS + 3_600 };
  const bound = { 'kubernetes.io': { namespace: 'fairlead', pod: { name: 'controller-0', uid: '1' } } };
  const payload = Object.entries({ ...usual, ...bound, ...claims }).filter(
    ([, value]) => value !== undefined,
  );
  return new SignJWT(Object.fromEntries(payload))
    .setProtectedHeader({ alg, kid: String(publicJwk.kid), ...header })
    .sign(privateKey);
}

/** An issuer that publishes its keys on loopback, as Kubernetes does. */
export type Issuer = {
  readonly url: string;
  readonly requests: string[];
  publish(...keys: readonly JWK[]): void;
  /** Sets the answer to every request; undefined restores the correct answers. */
  answer(how: ((response: ServerResponse, path: string) => void) | undefined): void;
};

const types: Readonly<Record<string, string>> = {
  '/.well-known/openid-configuration': 'application/json',
  '/openid/v1/jwks': 'application/jwk-set+json',
};

/** Starts an issuer that ends with the test. */
export async function startIssuer(t: TestContext, ...first: readonly JWK[]): Promise<Issuer> {
  let keys = first;
  let other: ((response: ServerResponse, path: string) => void) | undefined;
  const requests: string[] = [];
  const server = createServer(({ url: path = '', headers }, response) => {
    requests.push(path);
    if (other) return other(response, path);
    const type = types[path];
    if (type === undefined) return response.writeHead(404).end();
    if (!String(headers.accept).split(/, ?/).includes(type)) return response.writeHead(406).end();
    const jwksUri = `${issuer.url}/openid/v1/jwks`;
    const content = type.includes('jwk') ? { keys } : { issuer: issuer.url, jwks_uri: jwksUri };
    return response.writeHead(200, { 'content-type': type }).end(JSON.stringify(content));
  });
  const address = await listen(t, server);
  const issuer: Issuer = {
    url: `http://${address}`,
    requests,
    publish: (...published) => void (keys = published),
    answer: how => void (other = how),
  };
  return issuer;
}
