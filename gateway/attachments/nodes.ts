import { readNodeId } from '../../src/api/ids.ts';
import { toPrintable } from '../../src/api/http/printable.ts';
import { limitProblem, limits } from '../../src/api/limits.ts';
import { nodeId as nodeIdSchema, type Node, type NodePage, type NodeSpec } from '../../src/api/node.ts';
import { asProblem, invalidProblem, preconditionProblem, Problem } from '../../src/api/problem.ts';
import { sameJson } from '../../src/lib/json.ts';
import type { ServiceOptions } from '../operations/service-options.ts';
import type { Reader, Sql } from '../store.ts';
import { findUnderOtherKey, listVolumesOnNode, type ShownAttachment } from '../tables/attachments.ts';
import { countAtNode, listPoolsGranted, readCount } from '../tables/counts.ts';
import { nodeTable, type NodeKey, type NodeRecord } from '../tables/nodes.ts';
import { fromPageToken, type PageQuery, readPage } from '../tables/paging.ts';
import { readUsage } from '../tables/reservations.ts';
import type { LoggedOperation } from '../operations/audit-log.ts';
import type { Cluster } from '../callers/cluster.ts';
import { requireRecordSize } from '../tables/record-size.ts';
import { requireOneKey } from './admission.ts';

/** The maximum number of a node's volumes that a message counts. */
const maxCounted = 100;

export function createNodes({
  engine,
  operations,
  pools,
  slices,
}: Pick<ServiceOptions, 'engine' | 'operations' | 'pools' | 'slices'>) {
  /** Notes that the cluster no longer has the node. */
  async function noteGone(node: NodeKey): Promise<void> {
    await engine.transaction(async sql => {
      await lockNode(sql, node);
      const known = await nodeTable.find(sql, node);
      if (known && known.goneMs === undefined) await nodeTable.update(sql, node, { goneMs: await sql.now() });
    });
  }

  return {
    /**
     * Records the cluster's report of the node in place of an earlier one. RESOURCE_EXHAUSTED beyond
     * `limits.nodesPerCluster`; FAILED_PRECONDITION for a name that has volumes attached under another key.
     */
    async put({ name: cluster }: Cluster, nodeId: string, spec: NodeSpec) {
      const node = { cluster, nodeId, spec, goneMs: undefined };
      requireRecordSize(`node "${nodeId}"`, node);
      const created = await operations.change(nodeOperation('report', node), async sql => {
        await lockNode(sql, node);
        const known = await nodeTable.find(sql, node);
        if (!known) {
          requireOneKey(node, await findUnderOtherKey(sql, node));
          await requireBelowNodeLimit(sql, cluster);
          await countAtNode(sql, 'nodes', { cluster, nodeId, change: 1 });
        }
        // A controller repeats its report when it starts, which must not fill the log.
        const isChanged = known?.goneMs !== undefined || !sameJson(known?.spec, spec);
        if (isChanged) await nodeTable.replace(sql, node);
        return { result: known === undefined, isChanged };
      });
      return { node: { id: nodeId, ...spec }, created };
    },

    async get({ name: cluster }: Cluster, nodeId: string): Promise<Node> {
      const node = await nodeTable.find(engine.reader, { cluster, nodeId });
      if (!node) throw new Problem('NOT_FOUND', `there is no node "${nodeId}"`);
      return toNode(node);
    },

    /** Returns a page of the nodes that the cluster has reported, by id. */
    async list(cluster: Cluster, { limit, pageToken }: PageQuery): Promise<NodePage> {
      const afterId = fromPageToken(cluster.name, pageToken, 'nodes');
      const { entries, ...rest } = await readPage({ afterId, limit, list: 'nodes' }, (after, count) =>
        slices.take(cluster, () => listNodes(engine.reader, { cluster: cluster.name, after, count })),
      );
      return { nodes: entries, ...rest };
    },

    /**
     * Deletes the node. FAILED_PRECONDITION while volumes are attached: then the node is noted as missing. If it is
     * unknown, nothing happens. The record stays until every storage that may know the node has forgotten it, in pools
     * that the cluster may use or has volumes in. UNAVAILABLE while one of these pools is not open. A repeated call
     * asks again the storages that did not answer.
     */
    async delete({ name: cluster, pools: allowed }: Cluster, nodeId: string): Promise<void> {
      await requireUnused(engine.reader, { cluster, nodeId }).catch(async (error: unknown) => {
        // If the note fails, the cluster's next call notes it.
        if (asProblem(error).code === 'FAILED_PRECONDITION')
          await noteGone({ cluster, nodeId }).catch(() => {});
        throw error;
      });
      const used = await listPools(engine.reader, cluster);
      const mayKnow = (name: string): boolean => !allowed || [...allowed, ...used].includes(name);
      for (const { name, backend } of pools.all())
        if (mayKnow(name)) await backend.forgetNode?.({ cluster, nodeId });
      for (const [name, { problem }] of pools.waiting()) if (mayKnow(name)) throw problem;
      await operations.change(nodeOperation('delete', { cluster, nodeId }), async sql => {
        await lockNode(sql, { cluster, nodeId });
        await requireUnused(sql, { cluster, nodeId });
        const known = await nodeTable.find(sql, { cluster, nodeId });
        await nodeTable.remove(sql, { cluster, nodeId });
        if (known) await countAtNode(sql, 'nodes', { cluster, nodeId, change: -1 });
        return { result: undefined, isChanged: known !== undefined };
      });
    },
  };
}

async function requireBelowNodeLimit(sql: Reader, cluster: string): Promise<void> {
  const count = await readCount(sql, cluster, 'nodes');
  if (count >= limits.nodesPerCluster.max)
    throw limitProblem('nodesPerCluster', `cluster "${cluster}"`, count + 1);
}

export function nodeOperation(operation: string, { cluster, nodeId }: NodeKey): LoggedOperation {
  return { operation, kind: 'node', id: `${cluster}/${nodeId}` };
}

/**
 * Keeps all other transactions from changing the records and attachments of the node, and of nodes with the
 * same name and another key, until this transaction ends.
 */
export function lockNode(sql: Sql, { cluster, nodeId }: NodeKey): Promise<void> {
  return sql.lock('node', `${cluster} ${readNodeId(nodeId).name}`);
}

/** Notes that the cluster has the node again, because it attaches a volume there. */
export async function clearGone(sql: Sql, reported: NodeRecord | undefined): Promise<void> {
  if (reported?.goneMs !== undefined) await nodeTable.update(sql, reported, { goneMs: undefined });
}

/**
 * Throws FAILED_PRECONDITION unless the volume is being detached or the cluster has deleted the node: otherwise a pod
 * may use the volume.
 */
export async function requireGone(
  sql: Reader,
  { volumeId, cluster, nodeId, state }: ShownAttachment,
): Promise<void> {
  if (state === 'detaching') return;
  const node = await nodeTable.find(sql, { cluster, nodeId });
  if (node?.goneMs !== undefined) return;
  const where = node
    ? `which cluster "${cluster}" still reports`
    : `which cluster "${cluster}" does not report, so it may still run`;
  throw preconditionProblem(
    `volume "${volumeId}" is attached to node "${nodeId}", ${where}; delete the pods that use the volume, or detach it by force`,
  );
}

/** Lists the pools of everything that the cluster has, and of volumes that are shared with it. */
async function listPools(sql: Reader, cluster: string): Promise<readonly string[]> {
  const own = await readUsage(sql, cluster);
  const used = own.filter(({ volumes, snapshots }) => volumes + snapshots > 0);
  return [...used.map(({ pool }) => pool), ...(await listPoolsGranted(sql, cluster))];
}

async function requireUnused(sql: Reader, node: NodeKey): Promise<void> {
  const volumes = await listVolumesOnNode(sql, node, { afterId: '', limit: maxCounted });
  const number = volumes.length < maxCounted ? volumes.length : `at least ${maxCounted}`;
  const noun = volumes.length === 1 ? 'volume' : 'volumes';
  if (volumes.length > 0)
    throw preconditionProblem(
      `node "${node.nodeId}" still has ${number} ${noun} attached, such as "${volumes[0]}"`,
    );
}

async function listNodes(
  sql: Reader,
  { cluster, after, count }: { readonly cluster: string; readonly after: string; readonly count: number },
): Promise<readonly Node[]> {
  const page = 'and node_id > ? order by node_id limit ?';
  const records = await nodeTable.select(sql, { cluster }, page, after, count);
  return records.map(toNode);
}

function toNode({ nodeId: id, spec, goneMs }: NodeRecord): Node {
  return { id, ...spec, ...(goneMs !== undefined && { isMissing: true }) };
}

/** Throws INVALID_ARGUMENT for a malformed node id: empty, over 256 bytes, or with control characters. */
export function requireNodeId(nodeId: string): void {
  if (!nodeIdSchema.safeParse(nodeId).success)
    throw invalidProblem(
      `the node id "${toPrintable(nodeId, 64)}" must have 1 to 256 bytes and no control characters`,
    );
}
