import type { ClusterState, PoolState, RunningOperation, Status } from '../../../api/admin.ts';
import { readNodeId } from '../../../api/ids.ts';
import { toAge, toQuota } from '../../output/values.ts';
import { adviseRefused, describeRefused, isAccepted, type RefusedTokens } from '../../refused-tokens.ts';
import { judgeCheck } from './differences.ts';
import { entryOf, type StatusLine } from './line.ts';
import {
  adviseFaulty,
  describeLastFailure,
  describeOutage,
  describeSpace,
  faultOf,
  usedBytesOf,
} from '../../pool-health.ts';

/** The facts of a gateway; only `fault` if it did not answer, and no lists if its store did not answer. */
export type StatusFacts = {
  /** The gateway's address. */
  readonly gateway: string;
  readonly nowMs: number;
  readonly fault?: string;
  readonly status?: Status;
  readonly pools?: readonly PoolState[];
  readonly clusters?: readonly ClusterState[];
  readonly operations?: readonly RunningOperation[];
};

type MissingNode = Status['missingNodes'][number];

/** A pool or quota is nearly full at this part of its size. */
const nearlyFull = 0.9;
/** An operation is stuck after this time, in milliseconds, as for `fairlead admin check`. */
const stuckAfterMs = 600_000;
const maxSkewMs = 60_000;

/** Judges the facts: one line for each part, those that need an operator included. */
export function judge(facts: StatusFacts): readonly StatusLine[] {
  const { gateway, nowMs, fault, status, pools = [], clusters = [], operations = [] } = facts;
  if (!status)
    return [
      {
        about: 'gateway',
        state: 'does not answer',
        what: `${gateway} does not answer: ${fault}`,
        todo: 'is it running? see kubectl get pods, or systemctl status fairlead-gateway, and its log; running pods keep their volumes meanwhile',
      },
    ];
  return [
    ...judgeGateway(status, nowMs),
    judgeStore(status),
    ...pools.map(pool => judgePool(pool, { nowMs, host: status.host })),
    ...clusters.flatMap(cluster => judgeCluster(cluster, pools, nowMs)),
    ...status.refusedTokens.map(tokens => judgeTokens(tokens, clusters)),
    ...status.missingNodes.map(node => judgeMissingNode(node, nowMs)),
    ...judgeOperations(operations, nowMs),
    ...(status.store.answers ? judgeCheck(status.check, nowMs) : []),
  ];
}

/** Summarizes the lines in one sentence. Parts that no check has looked at are not said to work. */
export function summarize(lines: readonly StatusLine[]): string {
  const { length } = lines.filter(({ todo }) => todo !== undefined);
  if (length > 0) return `${length === 1 ? '1 problem needs' : `${length} problems need`} attention`;
  const unchecked = lines.flatMap(({ about, isUnchecked }) => (isUnchecked ? [about] : []));
  if (unchecked.length === 0) return 'everything works';
  return `nothing needs attention; not checked against the store yet: ${unchecked.join(', ')}`;
}

function judgeGateway(status: Status, nowMs: number): readonly StatusLine[] {
  const { version, host, startedAt, clockSkewMs, configurationFaults, keyFaults } = status;
  const skewS = Math.round(clockSkewMs / 1_000);
  const operatorFaults = keyFaults.filter(({ caller }) => caller === 'operator');
  return [
    {
      about: 'gateway',
      state: `version ${version}, up for ${toAge(nowMs - Date.parse(startedAt))}${host === undefined ? '' : `, on ${host}; what follows is as this replica sees it`}`,
    },
    ...configurationFaults.map(fault => ({
      about: 'configuration',
      state: 'has faults',
      what: `${fault}; this part stays as it was`,
      todo: 'mend gateway.yaml; it is read again within 2 s (to check it first: fairlead gateway --check)',
    })),
    ...operatorFaults.map(({ detail }) => ({
      about: 'operators',
      state: 'have faulty keys',
      what: `tokens of operators are refused: ${detail}`,
      todo: 'mend the file on the gateway; it is read again within 2 s',
    })),
    Math.abs(clockSkewMs) > maxSkewMs
      ? {
          about: 'clock',
          state: 'is wrong',
          what: `the clock of the gateway is ${Math.abs(skewS)} s ${skewS > 0 ? 'ahead of' : 'behind'} the store`,
          todo: 'synchronize the clocks of the gateways (NTP)',
        }
      : { about: 'clock', state: 'agrees with the store' },
  ];
}

function judgeStore({ store }: Status): StatusLine {
  if (store.answers) return { about: 'store', state: `answers in ${store.answerMs} ms` };
  return {
    about: 'store',
    state: 'does not answer',
    what: `does not answer, so every request is refused for now: ${store.fault}`,
    todo: 'PostgreSQL: is it running, and reachable from the gateway? SQLite: is its disk full, or the file gone?',
  };
}

/** The present time, and the host of the gateway that answered. */
type View = { readonly nowMs: number; readonly host: string | undefined };

function judgePool(pool: PoolState, view: View): StatusLine {
  const line = { ...describePool(pool, view), entry: entryOf('pools', pool.id) };
  return pool.checkedAt === undefined ? { ...line, isUnchecked: true } : line;
}

function describePool(pool: PoolState, { nowMs, host }: View): StatusLine {
  const { id, backend, address, volumes, totalBytes, drainedSince, checkedAt, seenBy } = pool;
  const drained =
    drainedSince === undefined ? '' : `, drained for ${toAge(nowMs - Date.parse(drainedSince))}`;
  const state = `${pool.state}${drained}`;
  const about = `pool ${id}`;
  const fault = faultOf(pool);
  const used = describeSpace(pool);
  const checked =
    checkedAt === undefined ? 'not checked yet' : `checked ${toAge(nowMs - Date.parse(checkedAt))} ago`;
  // A load balancer may send each request to another replica.
  const seen = seenBy === undefined || seenBy === host ? '' : `, as ${seenBy} sees it`;
  const count = `${countOf(volumes, 'volume')}, ${checked}${seen}`;
  const line = { about, state: `${state}, ${used}, ${count}` };
  const place = [backend, address].filter(one => one !== undefined).join(' at ');
  if (pool.state === 'waiting')
    return {
      about,
      state: `${[state, place].filter(Boolean).join(', ')}, ${count}`,
      what: `it has not been opened since the gateway started: ${fault}`,
      todo: `check the storage, and pools.${id} in gateway.yaml; the gateway tries again every 2 s`,
    };
  if (fault !== undefined)
    return {
      about,
      state: `${describeOutage(pool)}${drained}, ${used}, ${count}`,
      what: fault,
      todo: adviseFaulty(pool),
    };
  if (totalBytes && usedBytesOf(pool) >= totalBytes * nearlyFull)
    return {
      ...line,
      what: `${used}: it is nearly full`,
      todo: 'enlarge the storage, or delete volumes: fairlead get volumes --sort-by -size',
    };
  const last = describeLastFailure(pool);
  return last === undefined ? line : { about, state: `${line.state}; last failure: ${last}` };
}

/** Names the pools that keep a cluster's controller from detaching dead nodes. */
function describeUncut(cluster: ClusterState, pools: readonly PoolState[]): string {
  if (!cluster.detachesDeadNodes) return '';
  const uncut = pools.filter(pool => pool.cannotCutOff && (cluster.pools?.includes(pool.id) ?? true));
  const names = uncut.map(({ id }) => `"${id}"`).join(', ');
  return names && `; a dead node with volumes of pool ${names} is left alone, because it cannot be cut off`;
}

function judgeCluster(
  cluster: ClusterState,
  pools: readonly PoolState[],
  nowMs: number,
): readonly StatusLine[] {
  const {
    id,
    isEnrolled,
    retiredSince,
    isRetirementUnfinished,
    keyFaults = [],
    quotas,
    lastSeenAt,
  } = cluster;
  const [about, entry] = [`cluster ${id}`, entryOf('clusters', id)];
  const seen = lastSeenAt === undefined ? '' : `, last seen ${toAge(nowMs - Date.parse(lastSeenAt))} ago`;
  const snapshots = cluster.snapshots > 0 ? `, ${countOf(cluster.snapshots, 'snapshot')}` : '';
  const [has, of] = [`${countOf(cluster.volumes, 'volume')}${snapshots}`, countOf(cluster.nodes, 'node')];
  // The keys and the quota of a retired cluster no longer matter, and an operator chose to keep its volumes.
  if (retiredSince !== undefined) {
    const line = {
      about,
      entry,
      state: `retired ${toAge(nowMs - Date.parse(retiredSince))} ago, ${has}, ${of}${seen}`,
    };
    return [isRetirementUnfinished ? { ...line, ...unfinishedRetirement(id) } : line];
  }
  const state = `${isEnrolled ? 'enrolled' : 'not enrolled'}, ${has}, ${of}${seen}${describeUncut(cluster, pools)}`;
  const full = quotas.filter(({ used, limit }) => used >= limit * nearlyFull);
  const left = isEnrolled
    ? []
    : [
        {
          about,
          entry,
          state,
          what: `it is not in gateway.yaml, but still has ${has} and ${of}`,
          todo: `put clusters.${id} back into gateway.yaml, or transfer or delete its volumes and snapshots: fairlead get volumes --cluster ${id}, fairlead get snapshots --cluster ${id}`,
        },
      ];
  const problems = [
    ...left,
    ...keyFaults.map(fault => ({
      about,
      entry,
      state: 'faulty keys',
      what: `its tokens are refused: ${fault}`,
      todo: `mend the file on the gateway, which is read again within 2 s; for a new key: fairlead enroll ${id}`,
    })),
    ...full.map(quota => ({
      about,
      entry,
      state,
      what: `its quota is ${quota.used >= quota.limit ? 'used up' : 'nearly used up'}: ${toQuota(quota)}`,
      todo: `raise clusters.${id}.quota in gateway.yaml, or delete volumes or snapshots of the cluster`,
    })),
  ];
  return problems.length > 0 ? problems : [{ about, entry, state }];
}

/**
 * Judges refused tokens. Every machine on the network can send bad tokens, also with a cluster's name. So they need an
 * operator only if they name a known cluster, and no token of its controller has been accepted for some time.
 */
function judgeTokens(refused: RefusedTokens, clusters: readonly ClusterState[]): StatusLine {
  const { cluster, count } = refused;
  const known = clusters.find(({ id }) => id === cluster);
  const about = cluster === undefined ? 'tokens' : `cluster ${cluster}`;
  const what = describeRefused(refused);
  if (cluster === undefined || isAccepted(refused, known)) return { about, state: what };
  return {
    about,
    entry: entryOf('clusters', cluster),
    state: `${countOf(count, 'token')} refused`,
    what,
    todo: known?.retiredSince
      ? `uninstall Fairlead in that cluster, or end its retirement: fairlead admin retire-cluster ${cluster} --end`
      : adviseRefused(cluster),
  };
}

/** Says how to finish a retirement. The store does not keep the flags of the first run. */
function unfinishedRetirement(id: string) {
  return {
    what: 'its retirement is not finished: steps failed, or it still runs',
    todo: `run it again with the same flags, which says why steps fail, or accept its tokens again with --end: fairlead admin retire-cluster ${id}`,
  };
}

function judgeMissingNode({ cluster, nodeId, since, volumes }: MissingNode, nowMs: number): StatusLine {
  const { name } = readNodeId(nodeId);
  const [attached, verb] = [countOf(volumes, 'volume'), volumes === 1 ? 'is' : 'are'];
  const age = toAge(nowMs - Date.parse(since));
  return {
    about: `node ${cluster}/${name}`,
    entry: entryOf('nodes', `${cluster}/${nodeId}`),
    state: `missing for ${age}, ${attached} attached`,
    what: `its cluster has not had it for ${age}, but ${attached} ${verb} attached to it`,
    todo: `if the machine is off for good, release them: fairlead admin detach-node ${cluster} ${nodeId}`,
  };
}

function countOf(count: number, noun: string): string {
  return count === 1 ? `1 ${noun}` : `${count} ${noun}s`;
}

function judgeOperations(operations: readonly RunningOperation[], nowMs: number): readonly StatusLine[] {
  const stuck = operations.filter(({ since }) => nowMs - Date.parse(since) > stuckAfterMs);
  const [about, state] = ['operations', `${operations.length} running`];
  if (stuck.length === 0) return [{ about, state }];
  return stuck.map(({ kind, operation, resourceId, since }) => ({
    about,
    state,
    entry: kind === 'group' ? undefined : entryOf(`${kind}s`, resourceId),
    what: `${operation} of "${resourceId}" has been running for ${toAge(nowMs - Date.parse(since))}`,
    todo: `a large copy may take so long; otherwise its storage hangs: fairlead explain ${resourceId}`,
  }));
}
