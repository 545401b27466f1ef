import { generateKeyPairSync } from 'node:crypto';
import { preconditionProblem } from '../../src/api/problem.ts';
import { parseJson } from '../../src/lib/json.ts';
import type { Secrets } from '../connector.ts';
import type { Host } from '../host.ts';

/** The key by which this machine is the node that it is: what is sealed to its public half only this machine opens. */
export type NodeKey = {
  /** X25519, 32 bytes in base64url. */
  readonly publicKey: string;
  /** The secrets of an attachment; FAILED_PRECONDITION for what is sealed to another key, or was changed. */
  open(sealed: string): Promise<Secrets>;
};

/** A private key as it lies in the file (RFC 8037). */
type PrivateKey = { readonly kty: 'OKP'; readonly crv: 'X25519'; readonly x: string; readonly d: string };

/**
 * Reads the node's key, which outlives the agent in this file. Where there is none it is made if `mayMake` says so: whoever
 * gets a key gets another id, and is another node from then on. Throws for a file that holds none: a key that was made
 * in its place would make this another node while pods use its volumes.
 */
export async function openNodeKey(path: string, host: Host, mayMake: boolean): Promise<NodeKey | undefined> {
  const text = await host.readText(path);
  if (text === undefined && !mayMake) return undefined;
  const key: unknown = text === undefined ? makeKey() : parseJson(text);
  if (!isPrivateKey(key))
    throw new Error(
      `"${path}" holds no key of a node: without that file this is another node, with another key`,
    );
  if (text === undefined) await host.writeDurably(path, `${JSON.stringify(key)}\n`);
  let imported: Promise<CryptoKey> | undefined;
  return {
    publicKey: key.x,
    open: async sealed => open(sealed, await (imported ??= importKey(key))),
  };
}

function importKey(key: PrivateKey): Promise<CryptoKey> {
  return crypto.subtle.importKey('jwk', key, { name: 'X25519' }, false, ['deriveBits']);
}

function makeKey(): unknown {
  return generateKeyPairSync('x25519').privateKey.export({ format: 'jwk' });
}

function isPrivateKey(value: unknown): value is PrivateKey {
  const { kty, crv, x, d } = Object(value) as Partial<Record<keyof PrivateKey, unknown>>;
  return kty === 'OKP' && crv === 'X25519' && is32Bytes(x) && is32Bytes(d);
}

function is32Bytes(text: unknown): boolean {
  return typeof text === 'string' && /^[A-Za-z0-9_-]{43}$/.test(text);
}

const algorithms = {
  keyManagementAlgorithms: ['ECDH-ES'],
  contentEncryptionAlgorithms: ['A256GCM'],
};

async function open(sealed: string, key: CryptoKey): Promise<Secrets> {
  // Loaded only where there is something to open: the agent is to cost little.
  const { compactDecrypt } = await import('jose/jwe/compact/decrypt');
  const opened = await compactDecrypt(sealed, key, algorithms).catch(() => {
    throw preconditionProblem(
      'the attachment is sealed to another key than that of this node, or was changed',
    );
  });
  const secrets = parseJson(new TextDecoder().decode(opened.plaintext));
  if (isSecrets(secrets)) return secrets;
  throw preconditionProblem('what is sealed in the attachment is not secrets by their names');
}

function isSecrets(value: unknown): value is Secrets {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return Object.values(value).every(secret => typeof secret === 'string');
}
