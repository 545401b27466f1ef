import { Problem } from '../../src/api/problem.ts';
import type { NodeSpec } from '../../src/api/node.ts';
import { isReachable, formatSegments } from '../../src/api/topology.ts';
import { listVolumesOnNode, type AttachmentRecord } from '../tables/attachments.ts';
import { nodeTable } from '../tables/nodes.ts';
import type { VolumeRecord } from '../tables/volumes.ts';
import type { Reader } from '../store.ts';
import type { Cluster } from '../tenancy/cluster.ts';

/** A volume that is to be attached to a node of a cluster, and what the cluster reported of the node. */
type Wanted = {
  readonly volume: VolumeRecord;
  readonly cluster: Cluster;
  readonly nodeId: string;
  readonly node: NodeSpec | undefined;
};

/** What the cluster reported of its node. NOT_FOUND for one that it has not reported, unless any node is accepted. */
export async function requireNode(
  sql: Reader,
  cluster: Cluster,
  nodeId: string,
): Promise<NodeSpec | undefined> {
  const node = await nodeTable.find(sql, { cluster: cluster.name, nodeId });
  if (!node && !cluster.acceptAnyNode) throw new Problem('NOT_FOUND', `there is no node "${nodeId}"`);
  return node?.spec;
}

/**
 * The node can have this volume beside its others: FAILED_PRECONDITION when it is where the volume is not reached from,
 * RESOURCE_EXHAUSTED when it is full of others.
 */
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
  throw new Problem(
    'FAILED_PRECONDITION',
    `volume "${id}" is in "${formatSegments(segments)}", and node "${nodeId}" ${there}`,
  );
}

/**
 * Two nodes may have a volume when neither writes, or in a mode that says who may write. Otherwise it is
 * FAILED_PRECONDITION, naming the node that has it.
 */
export function requireShareable(other: AttachmentRecord, asked: AttachmentRecord): void {
  const sides = [other, asked];
  const modes = sides.map(({ capability }) => capability.accessMode);
  const writers = sides.filter(({ readonly }) => !readonly);
  const shareable =
    modes.every(mode => mode.startsWith('MULTI_NODE_')) &&
    (writers.every(({ capability }) => capability.accessMode === 'MULTI_NODE_MULTI_WRITER') ||
      (writers.length === 1 && modes.every(mode => mode === 'MULTI_NODE_SINGLE_WRITER')));
  if (!shareable)
    throw new Problem(
      'FAILED_PRECONDITION',
      `volume "${asked.volumeId}" is attached to node "${other.nodeId}"`,
    );
}
