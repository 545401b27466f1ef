import { isReplacedBy, readNodeIdentity } from '../../src/api/node-identity.ts';
import { asProblem, Problem } from '../../src/api/problem.ts';
import type { Closing } from './closing.ts';
import type { AttachmentId } from '../tables/attachments.ts';
import { listNodesNamed } from '../tables/nodes.ts';
import type { Reader } from '../store.ts';

/** The attachments of machines that the node took the place of: whatever they were, they are gone. */
export function findStale<T extends AttachmentId>(
  node: AttachmentId,
  attachments: readonly T[],
): readonly T[] {
  return attachments.filter(
    ({ cluster, nodeId }) => cluster === node.cluster && isReplacedBy(nodeId, node.nodeId),
  );
}

/** The machine that took the node's place, if the volume is attached to one or the cluster has told of one. */
export async function findSuccessor(
  sql: Reader,
  { cluster, nodeId }: AttachmentId,
  attachments: readonly AttachmentId[],
): Promise<{ readonly nodeId: string; readonly holds: boolean } | undefined> {
  const holder = attachments.find(other => other.cluster === cluster && isReplacedBy(nodeId, other.nodeId));
  if (holder) return { nodeId: holder.nodeId, holds: true };
  const { name } = readNodeIdentity(nodeId);
  const told = await listNodesNamed(sql, cluster, name);
  const later = told.find(other => isReplacedBy(nodeId, other));
  return later === undefined ? undefined : { nodeId: later, holds: false };
}

/** FAILED_PRECONDITION when another machine took the node's place: who still calls by the old id has not heard of that. */
export async function requireLatest(
  sql: Reader,
  node: AttachmentId,
  attachments: readonly AttachmentId[],
): Promise<void> {
  const successor = await findSuccessor(sql, node, attachments);
  if (!successor) return;
  throw new Problem(
    'FAILED_PRECONDITION',
    successor.holds
      ? `volume "${node.volumeId}" is attached to node "${successor.nodeId}", which took the place of node "${node.nodeId}"`
      : `node "${successor.nodeId}" took the place of node "${node.nodeId}"`,
  );
}

/**
 * Closes the ways from machines that the node took the place of. UNAVAILABLE, naming them, while some are open: the next
 * try may close them, whatever the storage's reason was.
 */
export async function closeStale({ volumeId, nodeId }: AttachmentId, stale: Closing): Promise<void> {
  try {
    await stale.act();
  } catch (error) {
    const open = stale.open().map(old => `node "${old}"`);
    throw new Problem(
      'UNAVAILABLE',
      `volume "${volumeId}" is still attached to ${open.join(', ')}, whose place node "${nodeId}" took: ${asProblem(error).detail}`,
      error,
    );
  }
}
