import { Problem } from '../../src/api/problem.ts';
import type { Node, NodeSpec } from '../../src/api/node.ts';
import { listVolumesOnNode } from '../tables/attachments.ts';
import { nodeTable } from '../tables/nodes.ts';
import type { Cluster } from '../tenancy/cluster.ts';
import type { Engine } from '../store.ts';

/** Makes the nodes that each cluster reports. */
export function createNodes(engine: Engine) {
  return {
    /** Records what the cluster reports of the node, instead of what it reported before. */
    async put({ name: cluster }: Cluster, nodeId: string, spec: NodeSpec) {
      requireNodeId(nodeId);
      const node = { cluster, nodeId, spec };
      const created = await engine.transaction(
        async sql => !(await nodeTable.update(sql, node, { spec })) && nodeTable.insert(sql, node),
      );
      return { node: { id: nodeId, ...spec }, created };
    },

    async get({ name: cluster }: Cluster, nodeId: string): Promise<Node> {
      const node = await nodeTable.find(engine.reader, { cluster, nodeId });
      if (!node) throw new Problem('NOT_FOUND', `there is no node "${nodeId}"`);
      return { id: nodeId, ...node.spec };
    },

    /** FAILED_PRECONDITION while volumes are attached; a node that is not known is fine. */
    async delete({ name: cluster }: Cluster, nodeId: string): Promise<void> {
      await engine.transaction(async sql => {
        const volumes = await listVolumesOnNode(sql, { cluster, nodeId });
        if (volumes.length > 0)
          throw new Problem(
            'FAILED_PRECONDITION',
            `node "${nodeId}" still has ${volumes.length} volumes attached, such as "${volumes[0]}"`,
          );
        await nodeTable.remove(sql, { cluster, nodeId });
      });
    },
  };
}

/** INVALID_ARGUMENT for what cannot name a node: empty, over 256 bytes, or with control characters. */
export function requireNodeId(nodeId: string): void {
  const { length } = new TextEncoder().encode(nodeId);
  if (length === 0 || length > 256 || /\p{Cc}/u.test(nodeId))
    throw new Problem('INVALID_ARGUMENT', 'a node id has 1 to 256 bytes and no control characters');
}
