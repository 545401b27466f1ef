import type { CompactJWEHeaderParameters } from 'jose';
import type { Reach } from '../../src/api/attachment.ts';
import { readNodeId } from '../../src/api/ids.ts';
import { preconditionProblem, Problem, unavailableProblem } from '../../src/api/problem.ts';

const header: CompactJWEHeaderParameters = { alg: 'ECDH-ES', enc: 'A256GCM' };

/**
 * The reach with its secrets sealed to the node's key, if there are any: only that node can open them. FAILED_PRECONDITION
 * for a node without a key.
 */
export async function seal({ secrets, ...reach }: Reach, nodeId: string): Promise<Reach> {
  if (!secrets) return reach;
  if (reach.sealed !== undefined)
    throw unavailableProblem('the storage gave secrets for the node both sealed and open');
  const { key: x } = readNodeId(nodeId);
  if (x === undefined)
    throw preconditionProblem(
      `node "${nodeId}" has no key in its id, and what it needs to reach the volume is secret: drain it once, so that its agent gets one`,
    );
  const { CompactEncrypt } = await import('jose/jwe/compact/encrypt');
  const plain = new TextEncoder().encode(JSON.stringify(secrets));
  const encrypting = new CompactEncrypt(plain).setProtectedHeader(header);
  const sealed = await encrypting.encrypt({ kty: 'OKP', crv: 'X25519', x }).catch((error: unknown) => {
    throw new Problem('FAILED_PRECONDITION', `the key in the id of node "${nodeId}" is none`, {
      cause: error,
    });
  });
  return { ...reach, sealed };
}
