import {
  exportJWK,
  generateKeyPair,
  SignJWT,
  type CryptoKey,
  type JWK,
  type JWTHeaderParameters,
} from 'jose';

/** A cluster's key, with functions that enrol it and sign tokens with it. */
export type Signer = {
  readonly kid: string;
  readonly publicKey: CryptoKey;
  readonly publicJwk: JWK;
  readonly privateJwk: JWK;
  readonly algorithm: 'EdDSA' | 'ES256';
  sign(claims?: object, header?: { alg?: string; kid?: string | undefined }): Promise<string>;
};

/**
 * Creates a key that signs tokens as the cluster of this name does, with the given claims in place of its own; undefined
 * leaves a claim out.
 */
export async function createSigner(cluster: string, algorithm: 'EdDSA' | 'ES256' = 'EdDSA'): Promise<Signer> {
  const { publicKey, privateKey } = await generateKeyPair(algorithm, { extractable: true });
  const kid = `${cluster}-${algorithm}`;
  return {
    kid,
    publicKey,
    publicJwk: { ...(await exportJWK(publicKey)), kid },
    privateJwk: { ...(await exportJWK(privateKey)), kid },
    algorithm,
    sign(claims = {}, header = {}) {
      const now = Math.floor(Date.now() / 1_000);
      const payload = { iss: cluster, aud: 'fairlead', iat: now, exp: now + 600, ...claims };
      const given = Object.entries(payload).filter(([, value]) => value !== undefined);
      return new SignJWT(Object.fromEntries(given))
        .setProtectedHeader({ alg: algorithm, kid, ...header } as JWTHeaderParameters)
        .sign(privateKey);
    },
  };
}

const signersByName = new Map<string, Promise<Signer>>();

/** Returns the signer of this name, the same for all gateways of this process. */
export function signerOf(name: string): Promise<Signer> {
  const known = signersByName.get(name) ?? createSigner(name);
  signersByName.set(name, known);
  return known;
}
