import { sealHeaderOf, type Reach } from '../../src/api/attachment.ts';
import { readNodeId } from '../../src/api/ids.ts';
import { preconditionProblem, Problem, unavailableProblem } from '../../src/api/problem.ts';
import type { AttachmentRecord } from '../tables/attachments.ts';

type SealedAttachment = Pick<AttachmentRecord, 'volumeId' | 'nodeId' | 'attachmentId' | 'readonly'> & {
  readonly encryption?: string | undefined;
};

const algorithms = { alg: 'ECDH-ES', enc: 'A256GCM' } as const;

/**
 * Seals the secrets of the reach to the node's key, for this attachment alone: the protected header names the
 * volume, node, attachment, reach and use. A seal of another gateway is sealed once more, because that
 * gateway uses other names. FAILED_PRECONDITION for a node without a key.
 */
export async function seal(
  { secrets, sealed, ...reach }: Reach,
  { volumeId, nodeId, ...attachment }: SealedAttachment,
): Promise<Reach> {
  if (!secrets && !isJwe(sealed)) return { ...reach, ...(sealed !== undefined && { sealed }) };
  if (secrets && sealed !== undefined)
    throw unavailableProblem('the storage gave secrets for the node both sealed and open');
  const { key: x } = readNodeId(nodeId);
  if (x === undefined)
    throw preconditionProblem(
      `node "${nodeId}" has no key in its id, but the volume can only be reached with a secret; drain the node once, so that its agent makes a key`,
    );
  const { attachmentId, readonly, encryption } = attachment;
  const bound = await sealHeaderOf(
    { volume: volumeId, node: nodeId },
    { ...reach, attachmentId, readonly, encryption },
  );
  const { CompactEncrypt } = await import('jose/jwe/compact/encrypt');
  const plain = new TextEncoder().encode(sealed ?? JSON.stringify(secrets));
  const header = { ...algorithms, ...(sealed !== undefined && { cty: 'JWE' }), ...bound };
  const encrypting = new CompactEncrypt(plain).setProtectedHeader(header);
  const sealedToNode = await encrypting.encrypt({ kty: 'OKP', crv: 'X25519', x }).catch((error: unknown) => {
    throw new Problem(
      'FAILED_PRECONDITION',
      `the id of node "${nodeId}" has no valid key; drain the node once, so that its agent makes a new one`,
      {
        cause: error,
      },
    );
  });
  return { ...reach, sealed: sealedToNode };
}

/** Returns true for a JWE in its compact form. Anything else is passed on, and the node refuses it. */
function isJwe(sealed: string | undefined): boolean {
  return sealed?.split('.').length === 5;
}
