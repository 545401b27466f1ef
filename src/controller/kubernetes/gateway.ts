import type { StorageClient } from '../../api/client.ts';
import type { Node } from '../../api/node.ts';
import { asProblem } from '../../api/problem.ts';

/** The calls of the gateway that concern nodes. */
export type Gateway = Pick<
  StorageClient,
  'listNodes' | 'getNode' | 'putNode' | 'deleteNode' | 'detachDeadNode'
>;

/** Returns the gateway's present record of the node; undefined if it does not know the node. */
export async function findNode(client: Pick<Gateway, 'getNode'>, nodeId: string): Promise<Node | undefined> {
  try {
    return await client.getNode({ nodeId }, deadline());
  } catch (error) {
    if (asProblem(error).code === 'NOT_FOUND') return undefined;
    throw error;
  }
}

const callTimeoutMs = 15_000;

export function deadline() {
  return { deadlineMs: Date.now() + callTimeoutMs };
}
