import type { Node, NodeSpec } from '../../src/api/node.ts';
import { readNodeId } from '../../src/api/ids.ts';
import type { Reader } from '../store.ts';
import type { IdRange } from './paging.ts';
import { integer, json, optional, table, text, type RecordOf } from './table.ts';

const columns = {
  cluster: text(),
  nodeId: text(),
  spec: json<NodeSpec & Pick<Node, 'isDead'>>(),
  /** The node is missing since this time: the request to delete it while volumes were attached to it. */
  goneMs: optional(integer()),
};

export type NodeRecord = RecordOf<typeof columns>;
export type NodeKey = Pick<NodeRecord, 'cluster' | 'nodeId'>;

const missingNodes = 'nodes_gone on nodes (cluster, node_id) where gone_ms is not null';

export const nodeTable = table('nodes', { key: ['cluster', 'nodeId'], columns, indexes: [missingNodes] });

/** The statements that let the table of an older store tell which nodes are missing. */
export const addGone: readonly string[] = [
  'alter table nodes add column gone_ms bigint',
  `create index ${missingNodes}`,
];

const isAttached =
  'exists (select 1 from attachments where attachments.cluster = nodes.cluster and attachments.node_id = nodes.node_id)';

/** Selects nodes whose cluster no longer has them although volumes are attached to them. */
export const areMissing = `gone_ms is not null and ${isAttached}`;

/** Lists nodes whose cluster no longer has them although volumes are attached to them. */
export function listMissingNodes(sql: Reader, limit: number): Promise<readonly NodeRecord[]> {
  return nodeTable.select(sql, {}, `and ${areMissing} order by cluster, node_id limit ?`, limit);
}

export async function countVolumesAt(sql: Reader, { cluster, nodeId }: NodeKey): Promise<number> {
  const counting = 'select count(*) as number from attachments where node_id = ? and cluster = ?';
  const [row] = await sql.all(counting, nodeId, cluster);
  return Number(row?.number ?? 0);
}

/** Returns at most `limit` nodes of the cluster with this name and any key, by id after `afterId`. */
export async function findNodesByName(
  sql: Reader,
  { cluster, name }: { readonly cluster: string; readonly name: string },
  { afterId, limit }: IdRange,
): Promise<readonly NodeRecord[]> {
  // A tilde separates name and key. No character of a key comes after the tilde.
  const first = `${name}~`;
  const withKey = 'and node_id > ? and node_id < ? order by node_id limit ?';
  const from = afterId > first ? afterId : first;
  const found = await nodeTable.select(sql, { cluster }, withKey, from, `${first}~`, limit);
  return found.filter(({ nodeId }) => readNodeId(nodeId).name === name);
}
