import type {
  AnySnapshot,
  AnyVolume,
  AuditEntry,
  ClusterState,
  PoolState,
  Queue,
  RunningOperation,
} from '../api/admin.ts';
import { clusterOf as clusterOfId } from '../api/ids.ts';
import { problemTable } from '../api/problem.ts';
import { text } from '../lib/parsers.ts';
import type { SettingsOf } from '../lib/settings.ts';
import { connectionSettings, gatewayCommand, type Connection } from './connection.ts';
import { heldBy, readHealth, type HealthNow } from './describe.ts';
import { clusterOf, clusterSettings, listAll } from './get.ts';
import { kinds, toQuota, usedOf, type Entry, type Kind, type KindName, type Query } from './kinds.ts';
import { outputFormats, toOutput } from './output/formats.ts';
import { toPlain } from './output/table.ts';
import { toAge } from './output/values.ts';

/** One thing that somebody waits for or should know, and what to do about it. */
export type Advice = {
  /** False: it holds up nothing. */
  readonly isWaiting: boolean;
  readonly what: string;
  readonly todo?: string;
};

/** A volume or a snapshot, and what decides what becomes of it. */
export type Facts = {
  readonly id: string;
  readonly nowMs: number;
  readonly volume?: AnyVolume | undefined;
  readonly snapshot?: AnySnapshot | undefined;
  readonly operation?: RunningOperation | undefined;
  readonly pool?: PoolState | undefined;
  /** That of its id, whether or not it is enrolled. */
  readonly cluster?: ClusterState | undefined;
  /** The nodes to which it is attached and that nobody has reported. */
  readonly unknownNodes: readonly string[];
  readonly health?: HealthNow | undefined;
  /** What its cluster has at its pool. */
  readonly queue?: Queue | undefined;
  /** What was done to it last. */
  readonly last?: AuditEntry | undefined;
};

const settings = {
  id: { doc: 'the id of a volume or a snapshot, such as east.pvc-1', parse: text },
  ...clusterSettings,
  output: outputFormats('text', 'json', 'yaml'),
  ...connectionSettings,
} as const;

/** Says what a volume or a snapshot waits for; status 2 when it waits for something, or is not there. */
export const explainCommand = gatewayCommand({ settings, operands: ['id'] }, async (connection, values) => {
  const facts = await gather(connection, values);
  const advice = explain(facts);
  const { out } = connection.io;
  if (values.output === 'text') out(advice.map(toText).join(''));
  else out(await toOutput({ id: facts.id, advice }, values.output));
  return advice.some(({ isWaiting }) => isWaiting) ? 2 : 0;
});

function toText({ what, todo }: Advice): string {
  return `${toPlain(what)}\n${todo === undefined ? '' : `    ${todo}\n`}`;
}

async function gather(connection: Connection, values: SettingsOf<typeof settings>): Promise<Facts> {
  const one = async <E extends Entry>(name: KindName, query: Query): Promise<E | undefined> => {
    const [entry] = await listAll(connection, kinds[name] as Kind<E>, query);
    return entry;
  };
  const { id = values.id } = kinds.volumes.ask(values.id, clusterOf(values));
  const volume = await one<AnyVolume>('volumes', { id });
  const snapshot = volume ? undefined : await one<AnySnapshot>('snapshots', { id });
  const subject = volume ?? snapshot;
  const unknownNodes: string[] = [];
  for (const { cluster, nodeId } of volume?.attachments ?? [])
    if (!(await one('nodes', { id: `${cluster}/${nodeId}` }))) unknownNodes.push(nodeId);
  return {
    id,
    nowMs: Date.now(),
    volume,
    snapshot,
    unknownNodes,
    operation: await one('operations', { id: snapshot ? heldBy(snapshot) : `volume/${id}` }),
    pool: subject && (await one('pools', { id: subject.pool })),
    queue: subject && (await one('queues', { id: `${subject.pool}/${clusterOfId(id)}` })),
    cluster: await one('clusters', { id: clusterOfId(id) ?? id }),
    health: volume && (await readHealth(connection, volume)),
    last: await one('audit', { resource: id, limit: 1 }),
  };
}

/** What the thing waits for, in the order in which it is worth looking at, and what there is to know. */
export function explain(facts: Facts): readonly Advice[] {
  const { id, volume, snapshot } = facts;
  const found = [
    ...(volume || snapshot ? [] : [missing(facts)]),
    ...ofOperation(facts),
    ...ofPool(facts),
    ...ofState(facts),
    ...ofAttachments(facts),
    ...ofQueue(facts),
    ...ofQuota(facts),
    ...ofHealth(facts),
    ...ofLast(facts),
  ];
  if (found.some(({ isWaiting }) => isWaiting)) return found;
  const kind = volume ? 'volume' : 'snapshot';
  return [
    {
      isWaiting: false,
      what: `${kind} "${id}" waits for nothing: it is ${volume?.state ?? snapshot?.state}`,
    },
    ...found,
  ];
}

const wait = (what: string, todo?: string): Advice => ({
  isWaiting: true,
  what,
  ...(todo !== undefined && { todo }),
});
const know = (what: string, todo?: string): Advice => ({
  isWaiting: false,
  what,
  ...(todo !== undefined && { todo }),
});

function missing({ id, cluster }: Facts): Advice {
  const owner = clusterOfId(id);
  if (owner === undefined)
    return wait(
      `"${id}" is no id`,
      'an id is CLUSTER.NAME, such as east.pvc-1; fairlead get volumes lists them',
    );
  if (!cluster?.isEnrolled)
    return wait(
      `there is no "${id}", and no cluster "${owner}" is enrolled`,
      `fairlead enroll ${owner} makes its key; its entry belongs into gateway.yaml, below clusters`,
    );
  return wait(
    `there is neither a volume nor a snapshot "${id}"`,
    "the cluster has not asked for it, it was deleted, or it was refused: the log of the cluster's controller says which",
  );
}

function ofOperation({ operation, nowMs }: Facts): readonly Advice[] {
  if (!operation) return [];
  const { kind, resourceId, operation: name, since, until, holder } = operation;
  const [age, leftMs] = [toAge(nowMs - Date.parse(since)), Date.parse(until) - nowMs];
  const runs = `${name} runs on ${kind} "${resourceId}" for ${age}, held by gateway process ${holder.slice(0, 8)}`;
  if (leftMs > 0) return [wait(runs, 'the call that asked for it, and each repetition, waits for its end')];
  return [
    wait(
      `${name} was begun on ${kind} "${resourceId}" ${age} ago by gateway process ${holder.slice(0, 8)}, which has not renewed its claim`,
      'it has died or stands still; the next call, or a sweep within 15 s, goes on with what was begun, and a claim of what was not is removed later',
    ),
  ];
}

function ofPool({ pool, volume, snapshot }: Facts): readonly Advice[] {
  const name = volume?.pool ?? snapshot?.pool;
  if (name === undefined) return [];
  if (!pool)
    return [wait(`its pool "${name}" is not configured`, `put pools.${name} back into gateway.yaml`)];
  const { state, waitingFor, fault } = pool;
  if (state === 'waiting')
    return [wait(`its pool "${name}" waits for its storage: ${waitingFor}`, 'it is tried again every 2 s')];
  if (fault !== undefined) return [wait(`the storage of its pool "${name}" has a fault: ${fault}`)];
  const used = usedOf(pool) ?? 0;
  const full =
    used >= 95
      ? [know(`its pool "${name}" is reserved to ${used}%`, 'delete something, or make it larger')]
      : [];
  return state === 'removed'
    ? [know(`its pool "${name}" was removed from gateway.yaml: nothing new is created in it`), ...full]
    : full;
}

function ofState({ id, volume, snapshot, operation }: Facts): readonly Advice[] {
  const subject = volume ?? snapshot;
  if (!subject) return [];
  const kind = volume ? 'volume' : 'snapshot';
  const { state } = subject;
  const idle = operation ? '' : ', and no gateway works on it now';
  const todo =
    'the next call of the cluster, or a sweep within 15 s, goes on with it; fairlead admin repair --yes does now';
  if (state === 'creating') return [wait(`${kind} "${id}" is not created yet${idle}`, todo)];
  if (state === 'deleting') return [wait(`${kind} "${id}" is not deleted yet${idle}`, todo)];
  if (state === 'processing')
    return [wait(`snapshot "${id}" is taken, and cannot be used yet`, 'its storage still works on it')];
  if (volume?.state === 'deleted')
    return [
      wait(
        `volume "${id}" is deleted, and can be restored until ${volume.restorableUntil}`,
        `fairlead admin restore ${id} makes it ready again; until then its name is taken`,
      ),
    ];
  return (volume?.pending ?? []).map(pending =>
    wait(`the ${pending} of volume "${id}" is not done${idle}`, todo),
  );
}

function ofAttachments({ volume, unknownNodes, operation }: Facts): readonly Advice[] {
  return (volume?.attachments ?? []).map(({ cluster, nodeId, state, readonly }) => {
    const node = `node "${nodeId}" of cluster "${cluster}"`;
    const lost = unknownNodes.includes(nodeId)
      ? `cluster "${cluster}" does not report that node any more: if it is off for good, delete its VolumeAttachment`
      : undefined;
    if (state === 'attached')
      return know(
        `it is attached to ${node}${readonly ? ', for reading' : ''}`,
        lost ??
          (readonly
            ? undefined
            : 'another node gets it once it is detached there, unless its access mode lets both write'),
      );
    const idle = operation ? '' : ', and no gateway works on that now';
    const verb = state === 'attaching' ? 'attached to' : 'detached from';
    return wait(
      `it is not ${verb} ${node} yet${idle}`,
      lost ?? 'the call is repeated by the cluster; a sweep goes on with it, too',
    );
  });
}

/** What waits has recorded nothing yet, so that nobody knows whether it is this. */
function ofQueue({ queue }: Facts): readonly Advice[] {
  if (!queue || queue.waiting === 0) return [];
  const { cluster, pool, waiting, running, limit, oldestWaitMs } = queue;
  const work = waiting === 1 ? '1 operation waits' : `${waiting} operations wait`;
  return [
    know(
      `${work} for a turn of cluster "${cluster}" at pool "${pool}", the first for ${toAge(oldestWaitMs)}; ${running} run`,
      `the pool's storage takes ${limit} at a time now, of all clusters; fairlead top shows how that goes on`,
    ),
  ];
}

function ofQuota({ cluster }: Facts): readonly Advice[] {
  return (cluster?.quotas ?? [])
    .filter(({ used, limit }) => used >= limit)
    .map(quota =>
      know(
        `cluster "${cluster?.id}" has all that its quota gives (${toQuota(quota)}): it can create no more`,
        'raise it in gateway.yaml, or delete something',
      ),
    );
}

/** What was refused, unless something was done since. */
function ofLast({ last, nowMs }: Facts): readonly Advice[] {
  if (!last || last.code === 'OK') return [];
  const { operation, code, actor, at, requestId, about } = last;
  const what = about === undefined ? operation : `${operation} (${about})`;
  const since = `${what}, which ${actor} asked for ${toAge(nowMs - Date.parse(at))} ago`;
  const logged =
    requestId === undefined ? undefined : `the gateway's log has it under request id ${requestId}`;
  return [know(`last, ${since}, ended with ${code}: ${problemTable[code].title}`, logged)];
}

function ofHealth({ health }: Facts): readonly Advice[] {
  if (!health || 'unknown' in health) return [];
  return health.entries.map(({ status, reason, message }) =>
    wait(`its storage says ${status} (${reason}): ${message}`),
  );
}
