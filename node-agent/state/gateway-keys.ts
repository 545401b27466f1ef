import { createPublicKey, verify, type KeyObject, type webcrypto } from 'node:crypto';
import { signedText, type SignatureHeader } from '../../src/api/attachment.ts';
import { preconditionProblem, unavailableProblem } from '../../src/api/problem.ts';
import { createKeyedQueue } from '../../src/lib/concurrency.ts';
import { parseJson } from '../../src/lib/json.ts';
import type { Host } from '../host.ts';
import { openNewestAttachments } from './newest-attachments.ts';

/** What a publish context must be signed for. */
type SignedFor = { readonly volumeId: string; readonly nodeId: string };

/** The gateway's public keys: by them the node knows what its gateway made. */
export type GatewayKeys = {
  /**
   * FAILED_PRECONDITION, saying which, for a publish context that is not signed, is signed by somebody else, was changed, or
   * is of another volume or node.
   */
  requireSigned(context: Readonly<Record<string, string>>, expected: SignedFor): Promise<void>;
  /**
   * FAILED_PRECONDITION for an attachment that is older than one that this node has used of the volume, `knownId` among them.
   * Any other is used from here on; UNAVAILABLE where that cannot be noted.
   */
  requireNewest(volumeId: string, attachmentId: string, knownId: string | undefined): Promise<void>;
};

/** The algorithms of signatures that are taken, with the one kind of key for each: what a header says chooses among these alone. */
const algorithms = {
  EdDSA: { crv: 'Ed25519', digest: null },
  ES256: { crv: 'P-256', digest: 'sha256' },
} as const;

type Algorithm = keyof typeof algorithms;

/** A key of the file that can prove a signature. */
type GatewayKey = { readonly kid: unknown; readonly algorithm: Algorithm; readonly key: KeyObject };

/** The file of the keys, and the agent's own of what it has used. */
type Files = { readonly path: string; readonly newestPath: string };

/** Reads the keys (a JWKS) and throws one line for a file without any. It is looked at for each attachment. */
export async function openGatewayKeys({ path, newestPath }: Files, host: Host): Promise<GatewayKeys> {
  const readKeys = createKeyReader(path, host);
  await readKeys();
  const inTurn = createKeyedQueue();
  const newest = await openNewestAttachments(newestPath, host);
  return {
    async requireSigned(context, { volumeId, nodeId }) {
      const header = readSigned(context, await readKeys());
      if (header.volume !== volumeId) throw refusal(`of another volume than "${volumeId}"`);
      if (header.node !== nodeId) throw refusal(`for another node than "${nodeId}"`);
    },
    requireNewest: (volumeId, attachmentId, knownId) =>
      // What is compared must still hold when it is noted, and one file has them all.
      inTurn(newestPath, async () => {
        const known = [newest.get(volumeId), knownId].find(
          id => id !== undefined && isOlder(attachmentId, id),
        );
        if (known !== undefined)
          throw refusal(`an old one of volume "${volumeId}", after which came "${known}"`);
        await newest.note(volumeId, attachmentId);
      }),
  };
}

/** Gives the keys in the file as it is now, which are imported when it changed. */
function createKeyReader(path: string, host: Host): () => Promise<readonly GatewayKey[]> {
  let last: { readonly text: string; readonly keys: readonly GatewayKey[] } | undefined;
  return async () => {
    const text = (await host.readText(path)) ?? '';
    if (last?.text === text) return last.keys;
    const { keys } = Object(parseJson(text)) as { readonly keys?: unknown };
    if (!Array.isArray(keys) || keys.length === 0)
      throw unavailableProblem(`gateway keys file "${path}" is no JWKS with a key`);
    last = { text, keys: keys.flatMap(importKey) };
    return last.keys;
  };
}

type Jwk = webcrypto.JsonWebKey & { readonly kid?: unknown };

/** The key of a JWK that is for signatures; nothing for any other, by which nothing can be proved. */
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

/** What a header says; of what it calls critical (`crit`) nothing is understood here. */
type Header = Partial<SignatureHeader> & { readonly [Name in 'alg' | 'kid' | 'crit']?: unknown };

/** The header of the signature, once that is proved to be over all of the context (RFC 7515, with its payload detached). */
function readSigned(context: Readonly<Record<string, string>>, keys: readonly GatewayKey[]): Header {
  const { signature } = context;
  if (signature === undefined) throw refusal('not signed, and this node has --gateway-keys-file');
  const [head = '', content, end = ''] = signature.split('.');
  const bytes = Buffer.from(end, 'base64url');
  // Two texts of one signature would be two contexts that are both taken.
  if (signature !== `${head}..${bytes.toString('base64url')}` || content !== '')
    throw refusal('signed by what is no signature');
  const header = Object(parseJson(Buffer.from(head, 'base64url').toString())) as Header;
  const named = keys.filter(({ kid, algorithm }) => kid === header.kid && algorithm === header.alg);
  if (named.length === 0) throw refusal('signed with a key that is not in --gateway-keys-file');
  const text = `${head}.${Buffer.from(signedText(context)).toString('base64url')}`;
  if (header.crit !== undefined || !named.some(one => isSigned(text, bytes, one)))
    throw refusal('not what its gateway signed: it was changed, or signed with another key');
  return header;
}

function isSigned(text: string, signature: Buffer, { algorithm, key }: GatewayKey): boolean {
  // The two numbers of an ES256 signature stand side by side (RFC 7518); EdDSA knows no other form.
  return verify(
    algorithms[algorithm].digest,
    Buffer.from(text),
    { key, dsaEncoding: 'ieee-p1363' },
    signature,
  );
}

/** Ids that begin with the time (UUIDs of version 7), of which the older comes first; others tell nothing. */
function isOlder(one: string, other: string): boolean {
  const timed = /^[0-9a-f]{8}-[0-9a-f]{4}-7/;
  return timed.test(one) && timed.test(other) && one < other;
}

function refusal(found: string) {
  return preconditionProblem(`the attachment is ${found}`);
}
