import type { NodeSpec } from '../../src/api/node.ts';
import type { Reader } from '../store.ts';
import { json, table, text, type RecordOf } from './table.ts';

const columns = { cluster: text(), nodeId: text(), spec: json<NodeSpec>() };

type NodeRecord = RecordOf<typeof columns>;

/** The nodes of all clusters, and what each cluster said of them. */
export const nodeTable = table('nodes', { key: ['cluster', 'nodeId'], columns });

/** How many nodes the cluster has reported. */
export async function countNodes(sql: Reader, cluster: string): Promise<number> {
  const [row] = await sql.all('select count(*) as number from nodes where cluster = ?', cluster);
  return Number(row?.['number'] ?? 0);
}

/** How many volumes are attached, being attached or being detached at nodes that follow one another, by `cluster/nodeId`. */
export async function countVolumesOnNodes(
  sql: Reader,
  nodes: readonly NodeRecord[],
): Promise<ReadonlyMap<string, number>> {
  const [first, last] = [nodes[0], nodes.at(-1)];
  if (!first || !last) return new Map();
  const query = `select cluster, node_id, count(*) as number from attachments
    where (cluster, node_id) >= (?, ?) and (cluster, node_id) <= (?, ?) group by cluster, node_id`;
  const rows = await sql.all(query, first.cluster, first.nodeId, last.cluster, last.nodeId);
  return new Map(rows.map(row => [`${row.cluster}/${row.node_id}`, Number(row.number)]));
}
