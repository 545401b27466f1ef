import type { ClusterState } from '../../../api/admin.ts';
import { clusterOf } from '../../../api/ids.ts';
import { failures } from '../../../api/problem.ts';
import { adviseFinding } from '../status/differences.ts';
import { toAge, toQuota } from '../../output/values.ts';
import { faultOf } from '../../pool-health.ts';
import { adviseRefused, describeRefused, isAccepted, type RefusedTokens } from '../../refused-tokens.ts';
import {
  type Advice,
  fact,
  type Facts,
  isUsedUp,
  reason,
  retirementAdvice,
  storageAdvice,
  usedUp,
} from './facts.ts';

/** Gives the reasons why a volume or snapshot does not exist. Without any, it gives the facts about its cluster. */
export function missingAdvice(facts: Facts): readonly Advice[] {
  const { id, cluster, last } = facts;
  const owner = clusterOf(id);
  if (owner === undefined)
    return [
      reason(
        `"${id}" is not an id`,
        'an id is CLUSTER.NAME, such as east.pvc-1; list the ids with fairlead get volumes',
      ),
    ];
  if (cluster?.retiredSince !== undefined)
    return [reason(`there is neither a volume nor a snapshot "${id}"`), ...retirementAdvice(facts)];
  if (!cluster?.isEnrolled)
    return [
      reason(
        `there is no "${id}", and cluster "${owner}" is not enrolled`,
        `run fairlead enroll ${owner}, and add the entry that it prints to gateway.yaml, below clusters`,
      ),
    ];
  const missing = `there is neither a volume nor a snapshot "${id}"`;
  const causes = causesOf(facts, cluster);
  // A wait for a slot follows as a reason of its own.
  if (causes.length > 0 || facts.waits?.length) return [reason(missing), ...causes];
  // A failure itself follows as a fact.
  const isRefused = last !== undefined && last.code !== 'OK';
  const todo = last
    ? `its last change was ${last.operation} by ${last.actor} at ${last.at}`
    : "the audit log has no request for it: see the log of the cluster's controller";
  return [isRefused ? reason(missing) : reason(missing, todo), ...checksOf(facts, cluster)];
}

/**
 * Lists the proven causes of a missing resource: faulty keys and refused tokens, because they keep all requests away, and
 * the faults that delay the present request, or made the gateway refuse the last one.
 */
function causesOf(facts: Facts, cluster: ClusterState): readonly Advice[] {
  const { pools = [], waits = [], last, refusedTokens } = facts;
  const failing = pools.filter(
    ({ id }) =>
      waits.some(({ queue }) => queue.pool === id) || (last?.about === id && failures.has(last.code)),
  );
  return [
    ...orphanAdvice(facts),
    ...keyAdvice(cluster),
    ...(refusedTokens ? tokenAdvice(refusedTokens, cluster) : []),
    ...failing.flatMap(pool => storageAdvice(pool) ?? []),
    ...(last?.code === 'RESOURCE_EXHAUSTED' ? usedUp(facts) : []),
  ];
}

/** Lists facts about the cluster of a missing resource. None of them is a proven cause. */
function checksOf({ pools = [], nowMs }: Facts, cluster: ClusterState): readonly Advice[] {
  const { id, lastSeenAt, quotas } = cluster;
  const seen =
    lastSeenAt === undefined
      ? `cluster "${id}" has sent this gateway no request since its start`
      : `cluster "${id}" was last seen ${toAge(nowMs - Date.parse(lastSeenAt))} ago`;
  const full = quotas.filter(isUsedUp).map(quota => toQuota(quota));
  const faulty = pools.flatMap(pool => {
    const fault = faultOf(pool);
    return fault === undefined ? [] : [`pool "${pool.id}": ${fault}`];
  });
  const sound = [
    'its keys have no faults',
    ...(full.length === 0 ? ['its quotas leave room'] : [`it has used up its quota (${full.join(', ')})`]),
    ...(faulty.length === 0 ? ['its pools answer'] : faulty),
  ];
  return [fact(`checked: ${[seen, ...sound].join('; ')}`)];
}

function orphanAdvice({ orphan }: Facts): readonly Advice[] {
  if (!orphan) return [];
  const { kind, id, pool } = orphan;
  return [
    reason(
      `the storage of pool "${pool}" has ${kind} "${id}", but the store does not`,
      adviseFinding(orphan),
    ),
  ];
}

/** Reports the faults of a cluster's keys. They are the reason why its requests are refused. */
function keyAdvice({ id, keyFaults = [] }: ClusterState): readonly Advice[] {
  return keyFaults.map(fault =>
    reason(
      `tokens of cluster "${id}" are refused: ${fault}`,
      'mend the file on the gateway; it is read again within 2 s',
    ),
  );
}

/** Reports refused tokens of a cluster whose controller has not been accepted since. */
function tokenAdvice(refused: RefusedTokens, cluster: ClusterState): readonly Advice[] {
  if (isAccepted(refused, cluster)) return [];
  return [reason(`cluster "${cluster.id}": ${describeRefused(refused)}`, adviseRefused(cluster.id))];
}
