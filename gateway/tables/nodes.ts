import type { NodeSpec } from '../../src/api/node.ts';
import { json, table, text } from './table.ts';

/** A node, and what its cluster said of it. */
export type NodeRecord = { readonly cluster: string; readonly nodeId: string; readonly spec: NodeSpec };

/** The nodes of all clusters. */
export const nodeTable = table<NodeRecord, 'cluster' | 'nodeId'>('nodes', {
  key: ['cluster', 'nodeId'],
  columns: { cluster: text('cluster'), nodeId: text('id'), spec: json('spec') },
});
