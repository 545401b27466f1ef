import type { PoolState } from '../../../api/admin.ts';
import { problemTable } from '../../../api/problem.ts';
import type { Copier } from '../../../api/volume.ts';
import { toAge } from '../../output/values.ts';
import { usedOf } from '../../pool-health.ts';
import { type Advice, fact, type Facts, reason, retirementAdvice, storageAdvice, usedUp } from './facts.ts';
import { missingAdvice } from './missing.ts';

/** A call of a storage that has been running for this time, in milliseconds, is a reason for waiting. */
const longCallMs = 10_000;
/** The storage's methods for operations that have another name. */
const methodsOf: Readonly<Record<string, readonly string[]>> = {
  delete: ['delete', 'snapshots.delete'],
  modify: ['modification.apply'],
  snapshot: ['snapshots.create', 'snapshots.createGroup'],
};

/** Lists the reasons for waiting and other facts, the likeliest cause first. */
export function explain(facts: Facts): readonly Advice[] {
  const { id, volume, snapshot } = facts;
  const found = [
    ...(volume || snapshot ? retirementAdvice(facts) : missingAdvice(facts)),
    ...poolAdvice(facts),
    ...operationAdvice(facts),
    ...stateAdvice(facts),
    ...attachmentAdvice(facts),
    ...grantAdvice(facts),
    ...queueAdvice(facts),
    ...quotaAdvice(facts),
    ...healthAdvice(facts),
    ...auditLogAdvice(facts),
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

function operationAdvice({ operation, nowMs }: Facts): readonly Advice[] {
  if (!operation) return [];
  const { kind, resourceId, operation: name, since, until, holder } = operation;
  const [age, leftMs] = [toAge(nowMs - Date.parse(since)), Date.parse(until) - nowMs];
  const [resource, gateway] = [`${kind} "${resourceId}"`, `gateway process ${holder.slice(0, 8)}`];
  if (leftMs > 0)
    return [
      reason(
        `${name} has been running on ${resource} for ${age} in ${gateway}`,
        'wait for its end: the call that started it, and each retry, waits too',
      ),
    ];
  return [
    reason(
      `${name} started on ${resource} ${age} ago in ${gateway}, which no longer renews its claim`,
      'that process has died or is paused; the next call, or a sweep within 15 s, continues the operation if its intent was recorded; otherwise its claim is removed later',
    ),
  ];
}

function poolAdvice(facts: Facts): readonly Advice[] {
  const { pool, volume, snapshot } = facts;
  const name = volume?.pool ?? snapshot?.pool;
  if (name === undefined) return [];
  if (!pool) return [reason(`pool "${name}" is not configured`, `put pools.${name} back into gateway.yaml`)];
  const fault = storageAdvice(pool);
  if (fault) return [fault];
  const used = usedOf(pool) ?? 0;
  const full =
    used >= 95
      ? [
          fact(
            `${used}% of pool "${name}" is reserved`,
            'delete volumes or snapshots, or enlarge the storage',
          ),
        ]
      : [];
  const removed =
    pool.state === 'removed'
      ? [fact(`pool "${name}" was removed from gateway.yaml: it takes no new volumes`)]
      : [];
  return [...callAdvice(pool, facts), ...removed, ...full];
}

/** Reports the longest call of a pool. It is a reason if it fits the resource's operation, because calls have no ids. */
function callAdvice({ id, oldestCall }: PoolState, { operation, nowMs }: Facts): readonly Advice[] {
  if (!operation || !oldestCall) return [];
  const { method, since } = oldestCall;
  const callMs = nowMs - Date.parse(since);
  if (callMs <= longCallMs) return [];
  const { [operation.operation]: methods = [operation.operation] } = methodsOf;
  const isOwn = methods.includes(method) && Date.parse(since) >= Date.parse(operation.since);
  const tell = isOwn ? reason : fact;
  return [
    tell(
      `the storage of pool "${id}" has not answered ${method} for ${toAge(callMs)}`,
      'a large copy may take so long; otherwise check the storage',
    ),
  ];
}

function stateAdvice({ id, volume, snapshot, operation }: Facts): readonly Advice[] {
  const subject = volume ?? snapshot;
  if (!subject) return [];
  const kind = volume ? 'volume' : 'snapshot';
  const { state } = subject;
  const idle = operation ? '' : ', and no gateway is working on it';
  const todo =
    'the next call of the cluster, or a sweep within 15 s, continues it; to continue now: fairlead admin repair --yes';
  if (state === 'creating') return [reason(`${kind} "${id}" is not created yet${idle}`, todo)];
  if (state === 'deleting') return [reason(`${kind} "${id}" is not deleted yet${idle}`, todo)];
  if (state === 'processing')
    return [reason(`snapshot "${id}" is taken but not ready to use`, 'wait for its storage to finish it')];
  if (volume?.state === 'deleted')
    return [
      reason(
        `volume "${id}" is deleted, and can be restored until ${volume.restorableUntil}`,
        `to restore it: fairlead admin restore ${id}; until that time its name stays taken`,
      ),
    ];
  return (volume?.pending ?? []).map(pending =>
    reason(`the ${pending} of volume "${id}" is not finished${idle}`, todo),
  );
}

function attachmentAdvice({ volume, unknownNodes, operation }: Facts): readonly Advice[] {
  return (volume?.attachments ?? []).map(({ cluster, nodeId, state, readonly }) => {
    const node = `node "${nodeId}" of cluster "${cluster}"`;
    const lost = unknownNodes.includes(nodeId)
      ? `cluster "${cluster}" no longer reports this node: if it is off for good, delete its VolumeAttachment, or run fairlead admin detach-node ${cluster} ${nodeId}`
      : undefined;
    if (state === 'attached')
      return fact(
        `volume "${volume?.id}" is attached to ${node}${readonly ? ', read-only' : ''}`,
        lost ??
          (readonly
            ? undefined
            : 'another node gets it after it is detached there, unless its access mode lets several nodes write'),
      );
    const idle = operation ? '' : ', and no gateway is working on that';
    const verb = state === 'attaching' ? 'attached to' : 'detached from';
    return reason(
      `volume "${volume?.id}" is not ${verb} ${node} yet${idle}`,
      lost ?? "the cluster's next call, or a sweep, continues it",
    );
  });
}

/** Lists grants that the other cluster has not accepted. */
function grantAdvice({ id, volume, snapshot }: Facts): readonly Advice[] {
  const owner = (volume ?? snapshot)?.cluster;
  const [resource, kind] = volume ? [`volume "${id}"`, ''] : [`snapshot "${id}"`, ' --kind snapshot'];
  const advise = (cluster: string, given: string, [effect, flags]: readonly [string, string]): Advice =>
    fact(
      `${given} cluster "${cluster}", which does not accept shares of cluster "${owner}" and so ${effect}`,
      `add "${owner}" to clusters.${cluster}.sharesFrom of gateway.yaml, or run fairlead admin grant ${id} ${cluster}${flags}`,
    );
  return [
    ...(volume?.grants ?? [])
      .filter(isUnaccepted)
      .map(({ cluster, access }) =>
        advise(cluster, `${resource} is shared with`, [
          'neither sees nor attaches it',
          ` --access ${access}`,
        ]),
      ),
    ...((volume ?? snapshot)?.copyGrants ?? [])
      .filter(isUnaccepted)
      .map(({ cluster }) =>
        advise(cluster, `the copies of ${resource} are granted to`, ['cannot copy it', `${kind} --copy`]),
      ),
  ];
}

function isUnaccepted({ isAccepted }: Copier): boolean {
  return isAccepted === false;
}

/** Reports the resource's own operations that wait for a slot, or else others in the same queue, which is only a fact. */
function queueAdvice({ id, queue, waits = [] }: Facts): readonly Advice[] {
  const own = waits.map(({ queue: { cluster, pool, running, limit }, wait }) =>
    reason(
      `${wait.operation} of "${id}" has been waiting ${toAge(wait.waitMs)} for a slot of cluster "${cluster}" at pool "${pool}"; ${running} run`,
      adviseQueue(pool, limit),
    ),
  );
  if (own.length > 0 || !queue || queue.waiting === 0) return own;
  const { cluster, pool, waiting, running, limit, oldestWaitMs } = queue;
  const work = waiting === 1 ? '1 operation waits' : `${waiting} operations wait`;
  return [
    fact(
      `${work} for a slot of cluster "${cluster}" at pool "${pool}", the first for ${toAge(oldestWaitMs)}; ${running} run`,
      adviseQueue(pool, limit),
    ),
  ];
}

function adviseQueue(pool: string, limit: number): string {
  return `the pool now runs at most ${limit} operations of all clusters at a time; its longest call: fairlead describe pool ${pool}; watch the queue with fairlead top`;
}

/** Reports used-up quotas of an existing resource's cluster, which delay nothing that exists. */
function quotaAdvice(facts: Facts): readonly Advice[] {
  if (!facts.volume && !facts.snapshot) return [];
  return usedUp(facts).map(({ what, todo }) => fact(what, todo));
}

/** Reports the newest entry of the audit log, if it is a failure. */
function auditLogAdvice({ last, nowMs }: Facts): readonly Advice[] {
  if (!last || last.code === 'OK') return [];
  const { operation, code, detail = problemTable[code].title, actor, at, requestId, about, count = 1 } = last;
  const call = about === undefined ? operation : `${operation} (${about})`;
  const age = toAge(nowMs - Date.parse(at));
  const logged =
    requestId === undefined ? undefined : `find it in the gateway's log by request id ${requestId}`;
  const times = count > 1 ? ` (${count} such refusals of ${actor} in one hour)` : '';
  return [
    fact(`the last call, ${call} by ${actor} ${age} ago, ended with ${code}: ${detail}${times}`, logged),
  ];
}

function healthAdvice({ health, volume }: Facts): readonly Advice[] {
  if (!health || 'unknown' in health) return [];
  return health.entries.map(({ status, reason: cause, message }) =>
    reason(
      `the storage reports ${status} (${cause}): ${message}`,
      `check the volume in the storage of pool "${volume?.pool}"; if its data are lost, restore them from a backup`,
    ),
  );
}
