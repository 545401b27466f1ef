import type { ApiServer } from './api-server.ts';
import { nodePath, type NodeObject, type Taint } from './objects.ts';

type TaintChange = {
  readonly server: ApiServer;
  /** The name of the Node. */
  readonly name: string;
  readonly change: (taints: readonly Taint[]) => readonly Taint[];
};

/**
 * Changes the taints of a Node, and returns true if they differed. Fails on a concurrent change of the Node; the next
 * comparison tries again.
 */
export async function changeTaints({ server, name, change }: TaintChange): Promise<boolean> {
  const { metadata, spec } = await server.read<NodeObject>(nodePath(name));
  const before = spec.taints ?? [];
  const taints = change(before);
  if (taints.length === before.length) return false;
  await server.patch(nodePath(name), 'application/merge-patch+json', {
    metadata: { resourceVersion: metadata.resourceVersion },
    spec: { taints },
  });
  return true;
}
