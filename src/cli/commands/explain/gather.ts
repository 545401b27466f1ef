import type { AdminNode, AdminSnapshot, AdminVolume, PoolState, Queue } from '../../../api/admin.ts';
import { clusterOf as clusterOfId } from '../../../api/ids.ts';
import type { Entry, Kind, Query } from '../../kind.ts';
import { kinds, type KindName } from '../../kinds/index.ts';
import { listAll, type Lister } from '../../listing.ts';
import { operationIdOf, readHealth } from '../../related.ts';
import type { Facts } from './facts.ts';

/** Gathers everything that can delay the volume or snapshot with this id. */
export async function gather(connection: Lister, id: string): Promise<Facts> {
  const one = async <E extends Entry>(name: KindName, query: Query): Promise<E | undefined> => {
    const [entry] = await listAll(connection, kinds[name] as Kind<E>, query);
    return entry;
  };
  const volume = await one<AdminVolume>('volumes', { id });
  const snapshot = volume ? undefined : await one<AdminSnapshot>('snapshots', { id });
  const subject = volume ?? snapshot;
  const owner = clusterOfId(id);
  const queues = await listAll(connection, kinds.queues as Kind<Queue>, {});
  const snapshotOperation = snapshot ? operationIdOf(snapshot) : `snapshot/${id}`;
  return {
    id,
    nowMs: Date.now(),
    volume,
    snapshot,
    unknownNodes: await listUnknownNodes(connection, volume?.attachments),
    operation: await one('operations', { id: snapshot ? snapshotOperation : `volume/${id}` }),
    pool: subject && (await one('pools', { id: subject.pool })),
    ...(!subject && (await gatherOfMissing(connection, id))),
    queue: subject && queues.find(queue => queue.id === `${subject.pool}/${owner}`),
    waits: findWaits(queues, [`volume/${id}`, snapshotOperation]),
    cluster: await one('clusters', { id: clusterOfId(id) ?? id }),
    health: volume && (await readHealth(connection, volume)),
    last: await one('audit-log', { resource: id, limit: 1 }),
  };
}

/** Lists the ids of nodes that their cluster does not report, or no longer reports. */
async function listUnknownNodes(
  connection: Lister,
  attachments: AdminVolume['attachments'] = [],
): Promise<readonly string[]> {
  const unknown: string[] = [];
  for (const { cluster, nodeId } of attachments) {
    const query = { id: `${cluster}/${nodeId}` };
    const [node] = await listAll(connection, kinds.nodes as Kind<AdminNode>, query);
    if (!node || node.missingSince !== undefined) unknown.push(nodeId);
  }
  return unknown;
}

function findWaits(queues: readonly Queue[], resources: readonly string[]) {
  return queues.flatMap(queue =>
    (queue.waitingOperations ?? [])
      .filter(({ resource }) => resources.includes(resource))
      .map(wait => ({ queue, wait })),
  );
}

/** Gathers the facts that only the absence of a resource asks for, about its id and the cluster in it. */
async function gatherOfMissing(connection: Lister, id: string) {
  const cluster = clusterOfId(id);
  const { client, call } = connection;
  const query = cluster === undefined ? {} : { cluster };
  const pools = await listAll<PoolState>(connection, kinds.pools as Kind<PoolState>, query);
  const { refusedTokens, check } = await client.getStatus({}, call());
  const ofCluster = refusedTokens.find(one => one.cluster !== undefined && one.cluster === cluster);
  const orphan = check.findings.find(one => one.problem === 'unknown' && one.id === id);
  return { pools, refusedTokens: ofCluster, orphan };
}
