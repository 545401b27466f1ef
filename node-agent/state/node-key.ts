import { generateKeyPairSync } from 'node:crypto';
import type { SealHeader } from '../../src/api/attachment.ts';
import { preconditionProblem } from '../../src/api/problem.ts';
import { parseJson } from '../../src/lib/json.ts';
import type { Secrets } from '../connector.ts';
import type { Host } from '../host.ts';

/** The node's key pair. It is part of the node's identity, and only it opens attachments sealed to its public half. */
export type NodeKey = {
  /** X25519, 32 bytes in base64url. */
  readonly publicKey: string;
  /**
   * Opens the secrets of an attachment. FAILED_PRECONDITION if they are sealed to another key, changed, or sealed for another
   * use than `bound`. Seals of earlier releases do not name their use; they are opened only if the attachment `isSigned`.
   */
  open(sealed: string, bound: SealHeader, isSigned: boolean): Promise<Secrets>;
};

/** The private key in the key file (RFC 8037). */
type PrivateKey = { readonly kty: 'OKP'; readonly crv: 'X25519'; readonly x: string; readonly d: string };

/**
 * Reads the node's key, and makes one if the file is missing and `mayMake` is true. A new key changes the node's id, so it
 * becomes another node to the gateway. Throws for an invalid file, since a new key would change the id while pods use volumes.
 */
export async function openNodeKey(path: string, host: Host, mayMake: boolean): Promise<NodeKey | undefined> {
  const text = await host.readText(path);
  if (text === undefined && !mayMake) return undefined;
  const key: unknown = text === undefined ? createKey() : parseJson(text);
  if (!isPrivateKey(key))
    throw new Error(
      `"${path}" holds no key of a node; restore it from a backup, or drain the node and remove the file, which makes it another node with another key`,
    );
  if (text === undefined) await host.writeDurably(path, `${JSON.stringify(key)}\n`);
  let imported: Promise<CryptoKey> | undefined;
  return {
    publicKey: key.x,
    async open(sealed, bound, isSigned) {
      const seal = { sealed, key: await (imported ??= importKey(key)), isSigned };
      const secrets = parseJson(await openText(seal, bound));
      if (isSecrets(secrets)) return secrets;
      throw preconditionProblem(
        'the sealed part of the attachment does not contain secrets; detach the volume and attach it again',
      );
    },
  };
}

function importKey(key: PrivateKey): Promise<CryptoKey> {
  return crypto.subtle.importKey('jwk', key, { name: 'X25519' }, false, ['deriveBits']);
}

function createKey(): unknown {
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

/** The values that a seal's header must have; undefined allows any value. */
type RequiredHeader = { readonly [Name in keyof SealHeader]?: string | undefined };

type Seal = { readonly sealed: string; readonly key: CryptoKey; readonly isSigned: boolean };

/**
 * Opens a seal, or the nested seals of several gateways in a row. The outermost seal must match the volume and the node, and
 * every seal the reach.
 */
async function openText({ sealed, key, isSigned }: Seal, bound: RequiredHeader): Promise<string> {
  // Loaded only if there is a seal, to keep the agent small.
  const { compactDecrypt } = await import('jose/jwe/compact/decrypt');
  const { plaintext, protectedHeader } = await compactDecrypt(sealed, key, algorithms).catch(() => {
    throw preconditionProblem(
      'the attachment is sealed to another key than that of this node, or was changed; detach the volume and attach it again',
    );
  });
  requireBound(protectedHeader, bound, isSigned);
  const text = new TextDecoder().decode(plaintext);
  if (protectedHeader.cty !== 'JWE') return text;
  return openText({ sealed: text, key, isSigned }, { reach: bound.reach });
}

/** The names of a header's members in messages. */
const boundNames: SealHeader = {
  volume: 'volume',
  node: 'node',
  attachment: 'attachment of the volume',
  reach: 'way to the storage',
  use: 'use of the volume',
};

function requireBound(
  header: Readonly<Record<string, unknown>>,
  bound: RequiredHeader,
  isSigned: boolean,
): void {
  const members = Object.keys(boundNames) as (keyof SealHeader)[];
  if (isSigned && members.every(member => header[member] === undefined)) return;
  const other = members.find(member => bound[member] !== undefined && bound[member] !== header[member]);
  if (other !== undefined)
    throw preconditionProblem(
      `the attachment is sealed for another ${boundNames[other]}; detach the volume and attach it again`,
    );
}

function isSecrets(value: unknown): value is Secrets {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return Object.values(value).every(secret => typeof secret === 'string');
}
