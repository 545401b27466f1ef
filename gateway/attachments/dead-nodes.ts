import { asProblem, preconditionProblem, Problem } from '../../src/api/problem.ts';
import type { Cluster } from '../callers/cluster.ts';
import { forEachAtMost } from '../../src/lib/concurrency.ts';
import type { ServiceOptions } from '../operations/service-options.ts';
import type { Sql } from '../store.ts';
import { attachmentTable, listVolumesOnNode } from '../tables/attachments.ts';
import { nodeTable, type NodeKey } from '../tables/nodes.ts';
import { readAllInPieces } from '../tables/paging.ts';
import { findVolume } from '../tables/volumes.ts';
import type { createAttachments } from './attachments.ts';
import { canCutOff } from './cut-off.ts';
import { lockNode, nodeOperation } from './nodes.ts';

type Options = Pick<ServiceOptions, 'engine' | 'operations' | 'pools'> & {
  readonly attachments: Pick<ReturnType<typeof createAttachments>, 'detachChosen'>;
};

/** The number of volumes that are detached at a time: a node may have a hundred, and its pods wait for the last one. */
const maxInFlight = 16;

/**
 * Creates the detachment of all volumes from a node that its cluster found dead. It records first that the node is dead, so
 * that no volume is attached to the node meanwhile, and a repeated call continues after any failure or crash. Before that it
 * is refused, with nothing changed: FAILED_PRECONDITION if the cluster has no `deadNodes` or a pool cannot cut the node
 * off; UNAVAILABLE while a pool is not open, because only an open pool says whether it can.
 */
export function createDeadNodeDetachment({ engine, operations, pools, attachments }: Options) {
  const listVolumes = (node: NodeKey, sql = engine.reader): AsyncIterable<string> =>
    readAllInPieces<string>((afterId = '', limit) => listVolumesOnNode(sql, node, { afterId, limit }));

  /** Returns the number of volumes on the node. FAILED_PRECONDITION if a pool cannot cut the node off from one. */
  async function requireCutOff(sql: Sql, node: NodeKey): Promise<number> {
    let count = 0;
    for await (const volumeId of listVolumes(node, sql)) {
      count++;
      const volume = await findVolume(sql, volumeId);
      if (volume && !canCutOff(pools.get(volume.pool)))
        throw preconditionProblem(
          `pool "${volume.pool}" cannot cut node "${node.nodeId}" off from volume "${volumeId}"; once that machine is off, give it the taint node.kubernetes.io/out-of-service`,
        );
    }
    return count;
  }

  /**
   * Records that the node is dead. After that no attachment to the node is recorded. Returns the number of attachments, or
   * undefined if the node was recorded as dead before.
   */
  async function record({ name: cluster, deadNodes }: Cluster, nodeId: string): Promise<number | undefined> {
    if (!deadNodes)
      throw preconditionProblem(
        `cluster "${cluster}" has no "deadNodes" in the configuration of the gateway, so it detaches no dead node`,
      );
    const node = { cluster, nodeId };
    return operations.change(nodeOperation('detach', node), async sql => {
      await lockNode(sql, node);
      const known = await nodeTable.find(sql, node);
      if (!known) throw new Problem('NOT_FOUND', `there is no node "${nodeId}"`);
      const count = await requireCutOff(sql, node);
      const result = known.spec.isDead ? undefined : count;
      if (!known.spec.isDead) await nodeTable.update(sql, node, { spec: { ...known.spec, isDead: true } });
      // The log has the detachment of each volume, also when this is undone and repeated for days.
      return { result, isChanged: false };
    });
  }

  /**
   * Removes the record if all `count` attachments are still complete: the node uses its volumes as before. Otherwise this call,
   * or the call of another controller, may have closed a path.
   */
  async function undo(node: NodeKey, count: number): Promise<void> {
    await engine.transaction(async sql => {
      await lockNode(sql, node);
      const known = await nodeTable.find(sql, node);
      const complete = await attachmentTable.count(sql, { same: node, max: count }, "and state = 'attached'");
      if (!known || complete < count) return;
      const { isDead: _, ...spec } = known.spec;
      await nodeTable.update(sql, node, { spec });
    });
  }

  return async (cluster: Cluster, nodeId: string): Promise<void> => {
    const count = await record(cluster, nodeId);
    const node = { cluster: cluster.name, nodeId };
    const faults: Problem[] = [];
    await forEachAtMost(maxInFlight, await Array.fromAsync(listVolumes(node)), async volumeId => {
      const found = await attachmentTable.find(engine.reader, { ...node, volumeId });
      if (!found) return;
      const { attachmentId } = found;
      await attachments
        .detachChosen({ cluster, volumeId, nodeId }, { attachmentId })
        .catch((error: unknown) => faults.push(asProblem(error)));
    });
    if (count !== undefined && faults.length > 0) await undo(node, count);
    // The other volumes are detached nevertheless. Nothing of this is final: a repeated call tries again.
    const [first] = faults;
    if (first)
      throw new Problem(
        'UNAVAILABLE',
        `could not detach ${faults.length === 1 ? '1 volume' : `${faults.length} volumes`} from node "${nodeId}": ${first.detail}`,
        first,
      );
  };
}
