import type { Node } from '../../cluster/node.ts';
import { containersOf, controller } from '../../installation/containers.ts';
import type { InstalledCluster } from '../../installation/installation.ts';

/** Finds the node with the controller, which scenarios keep, and another node, which one scenario may lose. */
export async function nodesOf(
  served: InstalledCluster,
): Promise<{ readonly kept: Node; readonly lost: Node }> {
  const [found] = await containersOf(served, controller);
  const kept = served.nodes.find(({ name }) => name === found?.node);
  const lost = served.nodes.find(node => node !== kept);
  if (kept === undefined || lost === undefined) throw new Error('the controller is not on one of two nodes');
  return { kept, lost };
}
