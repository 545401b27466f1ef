import type { AdminSnapshot, AdminVolume, PoolState, Queue } from '../../api/admin.ts';
import { toPrintable } from '../../api/http/printable.ts';
import { clusterOf as clusterOfId } from '../../api/ids.ts';
import { text } from '../../lib/parsers.ts';
import type { SettingsOf } from '../../lib/settings.ts';
import { connectionSettings, gatewayCommand, type Connection } from '../connection.ts';
import type { Entry, Kind, Query } from '../kind.ts';
import { kinds, type KindName } from '../kinds/index.ts';
import { clusterOf, ownerSettings, listAll } from '../listing.ts';
import { outputFormats, toOutput } from '../output/formats.ts';
import { operationIdOf, readHealth } from './describe.ts';
import { explain } from './explain/advice.ts';
import type { Advice, Facts } from './explain/facts.ts';

const settings = {
  id: { doc: 'the id of a volume or a snapshot, such as east.pvc-1', parse: text },
  ...ownerSettings,
  output: outputFormats('text', 'json', 'yaml'),
  ...connectionSettings,
} as const;

const command = {
  settings,
  operands: ['id'],
  exits: { 2: 'the volume or snapshot waits for something, or does not exist' },
};

/** Explains why a volume or a snapshot is not ready. */
export const explainCommand = gatewayCommand(command, async (connection, values) => {
  const facts = await gather(connection, values);
  const advice = explain(facts);
  const { out } = connection.io;
  if (values.output === 'text') out(advice.map(toText).join(''));
  else out(await toOutput({ id: facts.id, advice }, values.output));
  return advice.some(({ isWaiting }) => isWaiting) ? 2 : 0;
});

function toText({ what, todo }: Advice): string {
  return `${toPrintable(what, Infinity)}\n${todo === undefined ? '' : `    ${todo}\n`}`;
}

async function gather(connection: Connection, values: SettingsOf<typeof settings>): Promise<Facts> {
  const one = async <E extends Entry>(name: KindName, query: Query): Promise<E | undefined> => {
    const [entry] = await listAll(connection, kinds[name] as Kind<E>, query);
    return entry;
  };
  const { id = values.id } = kinds.volumes.ask(values.id, clusterOf(values));
  const volume = await one<AdminVolume>('volumes', { id });
  const snapshot = volume ? undefined : await one<AdminSnapshot>('snapshots', { id });
  const subject = volume ?? snapshot;
  const owner = clusterOfId(id);
  const unknownNodes: string[] = [];
  for (const { cluster, nodeId } of volume?.attachments ?? [])
    if (!(await one('nodes', { id: `${cluster}/${nodeId}` }))) unknownNodes.push(nodeId);
  const queues = await listAll(connection, kinds.queues as Kind<Queue>, {});
  const snapshotOperation = snapshot ? operationIdOf(snapshot) : `snapshot/${id}`;
  return {
    id,
    nowMs: Date.now(),
    volume,
    snapshot,
    unknownNodes,
    operation: await one('operations', { id: snapshot ? snapshotOperation : `volume/${id}` }),
    pool: subject && (await one('pools', { id: subject.pool })),
    ...(!subject && (await gatherOfMissing(connection, owner))),
    queue: subject && queues.find(queue => queue.id === `${subject.pool}/${owner}`),
    waits: findWaits(queues, [`volume/${id}`, snapshotOperation]),
    cluster: await one('clusters', { id: clusterOfId(id) ?? id }),
    health: volume && (await readHealth(connection, volume)),
    last: await one('audit-log', { resource: id, limit: 1 }),
  };
}

function findWaits(queues: readonly Queue[], resources: readonly string[]) {
  return queues.flatMap(queue =>
    (queue.waitingOperations ?? [])
      .filter(({ resource }) => resources.includes(resource))
      .map(wait => ({ queue, wait })),
  );
}

/** Gathers the facts that only the absence of a resource asks for, about the cluster in its id. */
async function gatherOfMissing(connection: Connection, cluster: string | undefined) {
  const { client, call } = connection;
  const query = cluster === undefined ? {} : { cluster };
  const pools = await listAll<PoolState>(connection, kinds.pools as Kind<PoolState>, query);
  const { refusedTokens } = await client.getStatus({}, call());
  const ofCluster = refusedTokens.find(one => one.cluster !== undefined && one.cluster === cluster);
  return { pools, refusedTokens: ofCluster };
}
