import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { exportJWK, generateKeyPair, type CryptoKey, type JWK } from 'jose';

/** A key pair: the private key as in a key file, the public key to verify tokens. */
export type KeyPair = { readonly jwk: JWK; readonly publicKey: CryptoKey };

/** Makes a key pair for one of the controller's algorithms. */
export async function makeKey(alg: 'EdDSA' | 'ES256', kid: string): Promise<KeyPair> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  return { jwk: { ...(await exportJWK(privateKey)), kid }, publicKey };
}

/** Writes a file (text unchanged, anything else as JSON) that is removed with its test. */
export async function keyFileOf(t: TestContext, content: unknown): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'fairlead-key-'));
  t.after(() => rm(dir, { recursive: true }));
  const path = join(dir, 'key.json');
  await writeFile(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}
