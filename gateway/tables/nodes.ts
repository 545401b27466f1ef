import type { NodeSpec } from '../../src/api/node.ts';
import { readNodeId } from '../../src/api/ids.ts';
import type { Reader } from '../store.ts';
import { json, table, text, type RecordOf } from './table.ts';

const columns = { cluster: text(), nodeId: text(), spec: json<NodeSpec>() };

type NodeRecord = RecordOf<typeof columns>;

/** The nodes of all clusters, as each cluster reported them. */
export const nodeTable = table('nodes', { key: ['cluster', 'nodeId'], columns });

/** Counts the volumes that are attached, or being attached or detached, at the node. */
export async function countVolumesAt(
  sql: Reader,
  { cluster, nodeId }: Pick<NodeRecord, 'cluster' | 'nodeId'>,
): Promise<number> {
  const counting = 'select count(*) as number from attachments where node_id = ? and cluster = ?';
  const [row] = await sql.all(counting, nodeId, cluster);
  return Number(row?.number ?? 0);
}

/** Returns at most `limit` nodes of the cluster with this name and any key, by id after `afterId`. */
export async function findNodesByName(
  sql: Reader,
  { cluster, name }: { readonly cluster: string; readonly name: string },
  { afterId, limit }: { readonly afterId: string; readonly limit: number },
): Promise<readonly NodeRecord[]> {
  // A tilde separates name and key. No character of a key comes after the tilde.
  const first = `${name}~`;
  const withKey = 'and node_id > ? and node_id < ? order by node_id limit ?';
  const from = afterId > first ? afterId : first;
  const found = await nodeTable.select(sql, { cluster }, withKey, from, `${first}~`, limit);
  return found.filter(({ nodeId }) => readNodeId(nodeId).name === name);
}
