import type { NodeSpec } from '../../src/api/node.ts';
import { json, table, text } from './table.ts';

/** The nodes of all clusters, and what each cluster said of them. */
export const nodeTable = table('nodes', {
  key: ['cluster', 'nodeId'],
  columns: { cluster: text(), nodeId: text(), spec: json<NodeSpec>() },
});
