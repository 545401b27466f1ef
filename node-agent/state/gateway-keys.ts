import { createPublicKey, verify, type KeyObject, type webcrypto } from 'node:crypto';
import { signedText, type SignatureHeader } from '../../src/api/attachment.ts';
import { preconditionProblem, unavailableProblem } from '../../src/api/problem.ts';
import { createKeyedQueue } from '../../src/lib/concurrency.ts';
import { parseJson } from '../../src/lib/json.ts';
import type { Host } from '../host.ts';
import { isOlder } from './attachment-age.ts';
import { openNewestAttachments } from './newest-attachments.ts';

/** The volume and the node that a publish context must be signed for. */
type SignatureScope = { readonly volumeId: string; readonly nodeId: string };

/** The gateway's public keys, which prove that the gateway made an attachment. */
export type GatewayKeys = {
  /**
   * FAILED_PRECONDITION for a publish context that is not signed, signed with an unknown key, changed, or for another volume
   * or node. The message names the fault.
   */
  requireSigned(context: Readonly<Record<string, string>>, expected: SignatureScope): Promise<void>;
  /**
   * Records the attachment as the volume's newest. FAILED_PRECONDITION if `knownId` or another attachment that
   * this node has used is newer; UNAVAILABLE if the disk fails.
   */
  requireNewest(volumeId: string, attachmentId: string, knownId: string | undefined): Promise<void>;
};

/** The accepted signature algorithms, each with its only kind of key. A header can only choose among these. */
const algorithms = {
  EdDSA: { crv: 'Ed25519', digest: null },
  ES256: { crv: 'P-256', digest: 'sha256' },
} as const;

type Algorithm = keyof typeof algorithms;

type GatewayKey = { readonly kid: unknown; readonly algorithm: Algorithm; readonly key: KeyObject };

/** The path of the JWKS file, and of the agent's directory of used attachments. */
type KeyFiles = { readonly path: string; readonly newestPath: string };

/** Opens a JWKS file, which is read again for each attachment; throws if it has no key. */
export async function openGatewayKeys({ path, newestPath }: KeyFiles, host: Host): Promise<GatewayKeys> {
  const readKeys = createKeyReader(path, host);
  await readKeys();
  const enqueue = createKeyedQueue();
  const newest = await openNewestAttachments(newestPath, host);
  return {
    async requireSigned(context, { volumeId, nodeId }) {
      const header = readSigned(context, await readKeys());
      if (header.volume !== volumeId) throw refusal(`of another volume than "${volumeId}"`);
      if (header.node !== nodeId) throw refusal(`for another node than "${nodeId}"`);
    },
    requireNewest: (volumeId, attachmentId, knownId) =>
      // One queue for all volumes: nothing may change between comparing and noting, and volumes share files.
      enqueue(newestPath, async () => {
        const known = [await newest.get(volumeId), knownId].find(
          id => id !== undefined && isOlder(attachmentId, id),
        );
        if (known !== undefined)
          throw refusal(
            `outdated: volume "${volumeId}" has since had attachment "${known}"; attach it again`,
          );
        await newest.note(volumeId, attachmentId);
      }),
  };
}

/** Creates a function that returns the file's current keys and imports them only after a change. */
function createKeyReader(path: string, host: Host): () => Promise<readonly GatewayKey[]> {
  let last: { readonly text: string; readonly keys: readonly GatewayKey[] } | undefined;
  return async () => {
    const text = (await host.readText(path)) ?? '';
    if (last?.text === text) return last.keys;
    const { keys } = Object(parseJson(text)) as { readonly keys?: unknown };
    if (!Array.isArray(keys) || keys.length === 0)
      throw unavailableProblem(
        `gateway keys file "${path}" is missing or not a JWKS with a key; write the gateway's public keys to it`,
      );
    last = { text, keys: keys.flatMap(importKey) };
    return last.keys;
  };
}

type Jwk = webcrypto.JsonWebKey & { readonly kid?: unknown };

/** Imports a JWK for signatures; returns an empty list for any other JWK. */
function importKey(jwk: Jwk | null): readonly GatewayKey[] {
  const { kid, crv, alg, use = 'sig' } = Object(jwk) as Jwk;
  const algorithm = (Object.keys(algorithms) as Algorithm[]).find(name => algorithms[name].crv === crv);
  if (algorithm === undefined || (alg ?? algorithm) !== algorithm || use !== 'sig') return [];
  try {
    return [{ kid, algorithm, key: createPublicKey({ key: jwk as Jwk, format: 'jwk' }) }];
  } catch {
    return [];
  }
}

/** The header of a signature. A header with critical extensions (`crit`) is refused, since none is supported. */
type Header = Partial<SignatureHeader> & { readonly [Name in 'alg' | 'kid' | 'crit']?: unknown };

/** Verifies that the signature covers the whole context (RFC 7515, detached payload), and returns its header. */
function readSigned(context: Readonly<Record<string, string>>, keys: readonly GatewayKey[]): Header {
  const { signature } = context;
  if (signature === undefined) throw refusal('not signed, and this node has --gateway-keys-file');
  const [head = '', content, end = ''] = signature.split('.');
  const bytes = Buffer.from(end, 'base64url');
  // Only the canonical text of a signature is accepted, so that one signature has one text.
  if (signature !== `${head}..${bytes.toString('base64url')}` || content !== '')
    throw refusal('signed with a malformed signature');
  const header = Object(parseJson(Buffer.from(head, 'base64url').toString())) as Header;
  const named = keys.filter(({ kid, algorithm }) => kid === header.kid && algorithm === header.alg);
  if (named.length === 0) throw refusal('signed with a key that is not in --gateway-keys-file');
  const text = `${head}.${Buffer.from(signedText(context)).toString('base64url')}`;
  if (header.crit !== undefined || !named.some(one => isSigned(text, bytes, one)))
    throw refusal('not the one that the gateway signed: it was changed, or signed with another key');
  return header;
}

function isSigned(text: string, signature: Buffer, { algorithm, key }: GatewayKey): boolean {
  // An ES256 signature is two concatenated numbers (RFC 7518); for EdDSA the encoding has no effect.
  return verify(
    algorithms[algorithm].digest,
    Buffer.from(text),
    { key, dsaEncoding: 'ieee-p1363' },
    signature,
  );
}

function refusal(found: string) {
  return preconditionProblem(`the attachment is ${found}`);
}
