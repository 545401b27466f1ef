import type { JSONWebKeySet } from 'jose';
import type { createLocalJWKSet } from 'jose/jwks/local';
import { signedText, type SignatureHeader } from '../../src/api/attachment.ts';
import { preconditionProblem, unavailableProblem } from '../../src/api/problem.ts';
import { parseJson } from '../../src/lib/json.ts';
import type { Host } from '../host.ts';

/** What a publish context must be signed for. */
export type SignedFor = { readonly volumeId: string; readonly nodeId: string };

/** The gateway's public keys: by them the node knows what its gateway made. */
export type GatewayKeys = {
  /**
   * FAILED_PRECONDITION, saying which, for a publish context that is not signed, is signed by somebody else, was changed, is
   * of another volume or node, or is older than one that this agent has seen of the volume, `knownId` among them.
   */
  requireSigned(
    context: Readonly<Record<string, string>>,
    expected: SignedFor,
    knownId: string | undefined,
  ): Promise<void>;
};

type FindKey = ReturnType<typeof createLocalJWKSet>;

/** Of how many volumes the newest attachment is remembered after they have left. */
const mostRemembered = 1_000;

/** Reads the keys (a JWKS) and throws one line for a file without any. It is looked at for each attachment. */
export async function openGatewayKeys(path: string, host: Host): Promise<GatewayKeys> {
  await readKeySet(path, host);
  const findKey = createKeyFinder(path, host);
  const newest = new Map<string, string>();
  return {
    async requireSigned(context, { volumeId, nodeId }, knownId) {
      const header = await verify(context, await findKey());
      if (header.volume !== volumeId) throw refusal(`of another volume than "${volumeId}"`);
      if (header.node !== nodeId) throw refusal(`for another node than "${nodeId}"`);
      const { attachmentId = '' } = context;
      const known = [newest.get(volumeId), knownId].find(id => id !== undefined && isOlder(attachmentId, id));
      if (known !== undefined)
        throw refusal(`an old one of volume "${volumeId}", after which came "${known}"`);
      remember(newest, volumeId, attachmentId);
    },
  };
}

async function readKeySet(
  path: string,
  host: Host,
): Promise<{ readonly text: string; readonly keySet: JSONWebKeySet }> {
  const text = (await host.readText(path)) ?? '';
  const { keys } = Object(parseJson(text)) as Partial<JSONWebKeySet>;
  if (!Array.isArray(keys) || keys.length === 0)
    throw unavailableProblem(`gateway keys file "${path}" is no JWKS with a key`);
  return { text, keySet: { keys } };
}

/** What finds the key of a signature, in the file as it is now; a key that was imported stays so while the file is the same. */
function createKeyFinder(path: string, host: Host): () => Promise<FindKey> {
  let last: { readonly text: string; readonly findKey: FindKey } | undefined;
  return async () => {
    const { text, keySet } = await readKeySet(path, host);
    if (last?.text !== text) {
      const jwks = await import('jose/jwks/local');
      last = { text, findKey: jwks.createLocalJWKSet(keySet) };
    }
    return last.findKey;
  };
}

const options = { algorithms: ['EdDSA', 'ES256'] };

/** The header of the signature, once that is proved to be over all of the context. */
async function verify(context: Readonly<Record<string, string>>, findKey: FindKey) {
  const { signature } = context;
  if (signature === undefined) throw refusal('not signed, and this node has --gateway-keys-file');
  const [head = '', content, bytes = ''] = signature.split('.');
  // Two texts of one signature would be two contexts that are both taken.
  const isWhole = signature === `${head}..${Buffer.from(bytes, 'base64url').toString('base64url')}`;
  if (!isWhole || content !== '') throw refusal('signed by what is no signature');
  const payload = Buffer.from(signedText(context)).toString('base64url');
  const { flattenedVerify } = await import('jose/jws/flattened/verify');
  const jws = { protected: head, payload, signature: bytes };
  const verified = await flattenedVerify(jws, findKey, options).catch((error: { readonly code?: string }) => {
    if (error.code === 'ERR_JWKS_NO_MATCHING_KEY')
      throw refusal('signed with a key that is not in --gateway-keys-file');
    throw refusal('not what its gateway signed: it was changed, or signed with another key');
  });
  return verified.protectedHeader as Partial<SignatureHeader>;
}

/** Ids that begin with the time (UUIDs of version 7), of which the older comes first; others tell nothing. */
function isOlder(one: string, other: string): boolean {
  const timed = /^[0-9a-f]{8}-[0-9a-f]{4}-7/;
  return timed.test(one) && timed.test(other) && one < other;
}

function remember(newest: Map<string, string>, volumeId: string, attachmentId: string): void {
  newest.delete(volumeId);
  newest.set(volumeId, attachmentId);
  const [oldest] = newest.keys();
  if (newest.size > mostRemembered && oldest !== undefined) newest.delete(oldest);
}

function refusal(found: string) {
  return preconditionProblem(`the attachment is ${found}`);
}
