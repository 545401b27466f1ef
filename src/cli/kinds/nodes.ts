import { adminNodeSchema, type AdminNode } from '../../api/admin.ts';
import { readNodeId } from '../../api/ids.ts';
import { formatSegments } from '../../api/topology.ts';
import { kind, nameOf, ofCluster, toPage, wide } from '../kind.ts';

export const nodes = kind<AdminNode>({
  one: 'node',
  schema: adminNodeSchema,
  aliases: ['node'],
  doc: 'nodes that clusters have reported; a name is cluster/node, with or without the key in its id',
  ask: ofCluster('/'),
  page: async (client, query, call) => toPage(await client.listAllNodes(query, call), 'nodes'),
  columns: [
    { head: 'id', of: ({ cluster, nodeId }) => `${cluster}/${nameOf(nodeId)}` },
    { head: 'volumes', of: ({ volumes: attached }) => attached },
    { head: 'max', of: ({ maxVolumes }) => maxVolumes },
    { head: 'topology', of: ({ topology }) => (topology ? formatSegments(topology) : '') },
    {
      head: 'missing-for',
      of: ({ missingSince }, { nowMs }) =>
        missingSince === undefined ? undefined : nowMs - Date.parse(missingSince),
      unit: 'ms',
    },
    wide({ head: 'addresses', of: ({ addresses }: AdminNode) => addresses?.join(', ') }),
    wide({ head: 'cluster', of: ({ cluster }: AdminNode) => cluster }),
    wide({ head: 'node', of: ({ nodeId }: AdminNode) => nameOf(nodeId) }),
    wide({ head: 'key', of: ({ nodeId }: AdminNode) => readNodeId(nodeId).key }),
  ],
});
