import { nodeId as nodeIdSchema, type Node, type NodePage, type NodeSpec } from '../../src/api/node.ts';
import { invalidProblem, preconditionProblem, Problem } from '../../src/api/problem.ts';
import { formatSegments, isReachable } from '../../src/api/topology.ts';
import { sameJson } from '../../src/lib/json.ts';
import type { ServiceOptions } from '../operations/service-options.ts';
import type { Reader, Sql } from '../store.ts';
import { type AttachmentRecord, listVolumesOnNode, nodeName } from '../tables/attachments.ts';
import { countNodes, nodeTable } from '../tables/nodes.ts';
import { fromPageToken, type PageQuery, readPage } from '../tables/paging.ts';
import { listPoolsUsed, type VolumeRecord } from '../tables/volumes.ts';
import type { Deed } from '../tenancy/audit-log.ts';
import type { Cluster } from '../tenancy/cluster.ts';
import type { AskedAttachment } from './record.ts';

/** Most nodes of one cluster: twice as many as Kubernetes has, since those that are gone stay until they are deleted. */
const mostNodes = 10_000;

/** Makes the nodes that each cluster reports. */
export function createNodes({
  engine,
  operations,
  pools,
  turns,
}: Pick<ServiceOptions, 'engine' | 'operations' | 'pools' | 'turns'>) {
  return {
    /** Records what the cluster reports of the node, instead of what it reported before; RESOURCE_EXHAUSTED beyond `mostNodes`. */
    async put({ name: cluster }: Cluster, nodeId: string, spec: NodeSpec) {
      const node = { cluster, nodeId, spec };
      const created = await operations.change(deed('report', cluster, nodeId), async sql => {
        await lockNode(sql, node);
        const known = await nodeTable.find(sql, node);
        if (!known) await requireRoom(sql, cluster);
        // What a controller says again when it starts fills no log.
        const isChanged = !sameJson(known?.spec, spec);
        if (isChanged) await nodeTable.replace(sql, node);
        return { result: known === undefined, isChanged };
      });
      return { node: { id: nodeId, ...spec }, created };
    },

    async get({ name: cluster }: Cluster, nodeId: string): Promise<Node> {
      const node = await nodeTable.find(engine.reader, { cluster, nodeId });
      if (!node) throw new Problem('NOT_FOUND', `there is no node "${nodeId}"`);
      return { id: nodeId, ...node.spec };
    },

    /** A page of the nodes that the cluster has reported, by id. */
    async list(cluster: Cluster, { limit, pageToken }: PageQuery): Promise<NodePage> {
      const afterId = fromPageToken(cluster.name, pageToken, 'nodes');
      const { entries, ...rest } = await readPage({ afterId, limit, list: 'nodes' }, (after, count) =>
        turns.take(cluster, () => listNodes(engine.reader, { cluster: cluster.name, after, count })),
      );
      return { nodes: entries, ...rest };
    },

    /**
     * FAILED_PRECONDITION while volumes are attached; a node that is not known is fine. It stays until each storage that
     * may know it, of a pool that the cluster may use or has volumes in, has forgotten it: the same call asks again those that did not answer.
     */
    async delete({ name: cluster, pools: allowed }: Cluster, nodeId: string): Promise<void> {
      await requireUnused(engine.reader, { cluster, nodeId });
      const used = await listPoolsUsed(engine.reader, cluster);
      for (const { name, backend } of pools.all())
        if (!allowed || [...allowed, ...used].includes(name)) await backend.forgetNode?.({ cluster, nodeId });
      await operations.change(deed('delete', cluster, nodeId), async sql => {
        await lockNode(sql, { cluster, nodeId });
        await requireUnused(sql, { cluster, nodeId });
        const known = await nodeTable.find(sql, { cluster, nodeId });
        await nodeTable.remove(sql, { cluster, nodeId });
        return { result: undefined, isChanged: known !== undefined };
      });
    },
  };
}

async function requireRoom(sql: Reader, cluster: string): Promise<void> {
  if ((await countNodes(sql, cluster)) < mostNodes) return;
  throw new Problem(
    'RESOURCE_EXHAUSTED',
    `cluster "${cluster}" has reported ${mostNodes} nodes, and no more are recorded: delete those that are gone`,
  );
}

function deed(operation: string, cluster: string, nodeId: string): Deed {
  return { operation, kind: 'node', id: `${cluster}/${nodeId}` };
}

/** Lets nobody else change what is known of the node, or what is attached to it, before this transaction has ended. */
export function lockNode(
  sql: Sql,
  { cluster, nodeId }: { readonly cluster: string; readonly nodeId: string },
): Promise<void> {
  return sql.lock('node', `${cluster} ${nodeId}`);
}

async function requireUnused(
  sql: Reader,
  node: { readonly cluster: string; readonly nodeId: string },
): Promise<void> {
  const volumes = await listVolumesOnNode(sql, node);
  if (volumes.length > 0)
    throw preconditionProblem(
      `node "${node.nodeId}" still has ${volumes.length} volumes attached, such as "${volumes[0]}"`,
    );
}

async function listNodes(
  sql: Reader,
  { cluster, after, count }: { readonly cluster: string; readonly after: string; readonly count: number },
): Promise<readonly Node[]> {
  const page = 'and node_id > ? order by node_id limit ?';
  const records = await nodeTable.select(sql, { cluster }, page, after, count);
  return records.map(({ nodeId: id, spec: { maxVolumes, topology } }) => ({ id, maxVolumes, topology }));
}

/** INVALID_ARGUMENT for what cannot name a node: empty, over 256 bytes, or with control characters. */
export function requireNodeId(nodeId: string): void {
  if (!nodeIdSchema.safeParse(nodeId).success)
    throw invalidProblem('a node id has 1 to 256 bytes and no control characters');
}

/** A volume that is to be attached to a node of a cluster, and what the cluster reported of the node. */
type Wanted = {
  readonly volume: VolumeRecord;
  readonly cluster: Cluster;
  readonly nodeId: string;
  readonly node: NodeSpec | undefined;
};

/** What the cluster reported of its node. NOT_FOUND for one that it has not reported, unless any node is accepted. */
export function requireNode(
  cluster: Cluster,
  nodeId: string,
  reported: NodeSpec | undefined,
): NodeSpec | undefined {
  if (reported || cluster.acceptAnyNode) return reported;
  throw new Problem('NOT_FOUND', `there is no node "${nodeId}"`);
}

/** FAILED_PRECONDITION when the node is where the volume is not reached from, RESOURCE_EXHAUSTED when it is full. */
export async function requireAdmission(sql: Reader, wanted: Wanted): Promise<void> {
  requireReachable(wanted);
  const { volume, cluster, nodeId, node } = wanted;
  if (node?.maxVolumes === undefined) return;
  const there = await listVolumesOnNode(sql, { cluster: cluster.name, nodeId });
  const { length } = there.filter(id => id !== volume.id);
  if (length >= node.maxVolumes)
    throw new Problem(
      'RESOURCE_EXHAUSTED',
      `node "${nodeId}" has ${length} volumes attached, and takes no more than ${node.maxVolumes}`,
    );
}

/** Where nothing is known of the node's topology, a cluster that is trusted with any node is trusted with this, too. */
function requireReachable({ volume: { id, segments }, cluster, nodeId, node }: Wanted): void {
  if (!segments || (node?.topology === undefined && cluster.acceptAnyNode)) return;
  const from = node?.topology ?? {};
  if (isReachable(segments, from)) return;
  const there =
    Object.keys(from).length === 0 ? 'has reported no topology' : `is in "${formatSegments(from)}"`;
  throw preconditionProblem(
    `volume "${id}" is in "${formatSegments(segments)}", and node "${nodeId}" ${there}`,
  );
}

/** FAILED_PRECONDITION, naming the other node, unless neither writes or both modes say who may write. */
export function requireShareable(other: AttachmentRecord, asked: AskedAttachment): void {
  const { volumeId } = asked;
  const sides = [other, asked];
  const modes = sides.map(({ capability }) => capability.accessMode);
  const writers = sides.filter(({ readonly }) => !readonly);
  const shareable =
    modes.every(mode => mode.startsWith('MULTI_NODE_')) &&
    (writers.every(({ capability }) => capability.accessMode === 'MULTI_NODE_MULTI_WRITER') ||
      (writers.length === 1 && modes.every(mode => mode === 'MULTI_NODE_SINGLE_WRITER')));
  if (!shareable)
    throw preconditionProblem(`volume "${volumeId}" is attached to node ${nodeName(other, asked)}`);
}
