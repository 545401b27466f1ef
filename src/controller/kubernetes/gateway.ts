import type { StorageClient } from '../../api/client.ts';

/** The calls of the gateway that concern nodes. */
export type Gateway = Pick<
  StorageClient,
  'listNodes' | 'getNode' | 'putNode' | 'deleteNode' | 'detachDeadNode'
>;

const callTimeoutMs = 15_000;

export function deadline() {
  return { deadlineMs: Date.now() + callTimeoutMs };
}
