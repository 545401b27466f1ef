import { generateKeyPair } from 'jose/key/generate/keypair';
import { exportJWK } from 'jose/key/export';
import type { JWK } from 'jose';

/** A new private key (Ed25519) with this `kid`, such as signs tokens. */
export async function makeKey(kid: string): Promise<JWK> {
  const { privateKey } = await generateKeyPair('EdDSA', { crv: 'Ed25519', extractable: true });
  return { ...(await exportJWK(privateKey)), alg: 'EdDSA', use: 'sig', kid };
}

/** What a gateway knows the key by: the key set with its public half, as text. */
export function keySetOf({ d: _private, ...publicKey }: JWK): string {
  return JSON.stringify({ keys: [publicKey] });
}
