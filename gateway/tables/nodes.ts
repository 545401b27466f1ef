import type { NodeSpec } from '../../src/api/node.ts';
import type { Reader, Sql } from '../store.ts';

/** Names one node. */
export type NodeId = { readonly cluster: string; readonly nodeId: string };

/** What the cluster said of its node, or undefined. */
export async function findNode(sql: Reader, { cluster, nodeId }: NodeId): Promise<NodeSpec | undefined> {
  const [row] = await sql.all('select spec from nodes where cluster = ? and id = ?', cluster, nodeId);
  return row && (JSON.parse(String(row.spec)) as NodeSpec);
}

/** Records what the cluster says of its node; true when the node was not known. */
export async function putNode(sql: Sql, { cluster, nodeId }: NodeId, spec: NodeSpec): Promise<boolean> {
  const text = JSON.stringify(spec);
  const updated = await sql.run(
    'update nodes set spec = ? where cluster = ? and id = ?',
    text,
    cluster,
    nodeId,
  );
  if (updated > 0) return false;
  await sql.run('insert into nodes (cluster, id, spec) values (?, ?, ?)', cluster, nodeId, text);
  return true;
}

/** Forgets the node. */
export async function removeNode(sql: Sql, { cluster, nodeId }: NodeId): Promise<void> {
  await sql.run('delete from nodes where cluster = ? and id = ?', cluster, nodeId);
}

/** The ids of the cluster's nodes that are this name, followed by `@` and anything. */
export async function listNodesNamed(sql: Reader, cluster: string, name: string): Promise<readonly string[]> {
  const start = `${name}@`;
  const rows = await sql.all(
    'select id from nodes where cluster = ? and substr(id, 1, ?) = ?',
    cluster,
    [...start].length,
    start,
  );
  return rows.map(row => String(row.id));
}
