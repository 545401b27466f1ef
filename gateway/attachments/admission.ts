import { readNodeId } from '../../src/api/ids.ts';
import type { NodeSpec } from '../../src/api/node.ts';
import { preconditionProblem, Problem } from '../../src/api/problem.ts';
import { formatSegments, isReachable } from '../../src/api/topology.ts';
import type { Cluster } from '../callers/cluster.ts';
import type { Reader } from '../store.ts';
import { attachmentTable, type findUnderOtherKey } from '../tables/attachments.ts';
import type { NodeKey, NodeRecord } from '../tables/nodes.ts';
import type { VolumeRecord } from '../tables/volumes.ts';

/** A volume to attach, and the cluster's report of the node. */
type Admission = {
  readonly volume: VolumeRecord;
  readonly cluster: Cluster;
  readonly nodeId: string;
  readonly node: NodeSpec | undefined;
};

/**
 * Returns the cluster's report of its node. NOT_FOUND for an unknown node, unless the cluster accepts any node.
 * FAILED_PRECONDITION for a dead one.
 */
export function requireNode(
  cluster: Cluster,
  nodeId: string,
  reported: NodeRecord['spec'] | undefined,
): NodeSpec | undefined {
  if (reported?.isDead)
    throw preconditionProblem(
      `cluster "${cluster.name}" has detached the dead node "${nodeId}"; its controller ends this once the node is back and clean`,
    );
  if (reported || cluster.acceptAnyNode) return reported;
  throw new Problem('NOT_FOUND', `there is no node "${nodeId}"`);
}

/**
 * Throws FAILED_PRECONDITION when the node cannot reach the volume's topology, and RESOURCE_EXHAUSTED when
 * the node is full.
 */
export async function requireAdmission(sql: Reader, admission: Admission): Promise<void> {
  requireReachable(admission);
  const { volume, cluster, nodeId, node } = admission;
  if (node?.maxVolumes === undefined) return;
  const others = { same: { cluster: cluster.name, nodeId }, max: node.maxVolumes };
  const there = await attachmentTable.count(sql, others, 'and volume_id <> ?', volume.id);
  if (there >= node.maxVolumes)
    throw new Problem(
      'RESOURCE_EXHAUSTED',
      `node "${nodeId}" has ${there} volumes attached, and its maximum is ${node.maxVolumes}`,
    );
}

/** Checks the topologies. A cluster that accepts any node is trusted if the node's topology is unknown. */
function requireReachable({ volume: { id, segments }, cluster, nodeId, node }: Admission): void {
  if (!segments || (node?.topology === undefined && cluster.acceptAnyNode)) return;
  const from = node?.topology ?? {};
  if (isReachable(segments, from)) return;
  const there =
    Object.keys(from).length === 0 ? 'has reported no topology' : `is in "${formatSegments(from)}"`;
  throw preconditionProblem(
    `volume "${id}" is in "${formatSegments(segments)}", but node "${nodeId}" ${there}`,
  );
}

/**
 * Throws FAILED_PRECONDITION while another machine, by its key, has volumes attached under the node's name. A
 * machine has only one key, and of two machines only an operator knows the right one. `other` comes from
 * `findUnderOtherKey`.
 */
export function requireOneKey(
  { cluster, nodeId }: NodeKey,
  other: Awaited<ReturnType<typeof findUnderOtherKey>>,
): void {
  if (!other) return;
  const { name } = readNodeId(nodeId);
  throw preconditionProblem(
    `node "${nodeId}" is refused: volume "${other.volumeId}" is attached to node "${other.nodeId}", another machine with the name "${name}"; drain that machine, or, if it is gone for good, run: fairlead admin detach-node ${cluster} ${other.nodeId}`,
  );
}
