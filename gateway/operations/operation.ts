import {
  asProblem,
  Problem,
  problemTable,
  unavailableProblem,
  wordsForOperators,
} from '../../src/api/problem.ts';
import { createKeyedLock, patienceUntil, pause, poll, startTimeLimit } from '../../src/lib/concurrency.ts';
import { sameJson } from '../../src/lib/json.ts';
import { clusterOf } from '../../src/api/ids.ts';
import {
  acquireClaim,
  claimTable,
  releaseClaim,
  renewClaim,
  type Claim,
  type Resource,
} from '../tables/claims.ts';
import type { Engine, Sql } from '../store.ts';
import { whileShort } from '../pools/room.ts';
import { createAuditLog } from './audit-log.ts';
import { createPreparation } from './preparation.ts';
import { createQueues, type Queues, type SlotRequest } from '../scheduling/queues.ts';
import { type Waiters, createWaiters } from '../scheduling/waiters.ts';
import { type SlotOptions, beginWithSlot, type SlotCheck } from '../scheduling/slots.ts';
import { currentRequest } from '../scheduling/current-request.ts';

/**
 * One operation, in the order of its members: claim and record the intent, act, record the outcome and free
 * the claims. `intend`, `succeed` and `fail` are transactions and may run twice. `act` runs between them, and
 * over all replicas nothing else works on the claimed resources meanwhile.
 */
export interface Operation<Intent, Effect, Result> {
  readonly operation: string;
  /** The request as plain data. Operations with equal data are equal. */
  readonly subject: unknown;
  /**
   * The part of the resource that the operation changes, such as one node's access to a volume. Absent: the
   * whole resource.
   */
  readonly part?: string;
  /** The other thing for the audit log, such as the node. */
  readonly about?: string;
  /** The resource of the operation, then other resources that it needs for itself. */
  readonly claims: readonly [Resource, ...Resource[]];
  /** The pool whose storage acts. The operation needs a slot there before it records anything. Absent: nothing acts. */
  pool?(intent: Intent): string | undefined;
  /** Records the intent, which stays only if all claims are taken. */
  intend(sql: Sql): Promise<IntendResult<Intent, Result>>;
  /** Removes the reason for which `intend` failed, and returns true: `intend` is tried again. False: it stays. */
  makeRoom?(failure: unknown): Promise<boolean>;
  act(intent: Intent): Promise<Effect>;
  /**
   * Records the outcome, after all claims are proved to be this operation's own. A final refusal by it is a
   * failure like one by `act`.
   */
  succeed(sql: Sql, done: { readonly intent: Intent; readonly effect: Effect }): Promise<Result>;
  /**
   * Records the failure, after all claims are proved to be this operation's own. A retry continues from the
   * remaining records.
   */
  fail(sql: Sql, failed: { readonly intent: Intent; readonly problem: Problem }): Promise<void>;
  /** Cleans up after a final failure, under its own claims. The caller gets the failure only after the clean-up. */
  undo?(intent: Intent): Operation<unknown, unknown, void>;
  /**
   * Brings the storage back to the recorded state, under its own claims, after a claim was lost: another
   * replica may have ended the work before `act` did its part. Absent: `undo`.
   */
  settle?(intent: Intent): Operation<unknown, unknown, void> | Promise<Operation<unknown, unknown, void>>;
}

/** Either the recorded intent, or the result because nothing is left to do. */
export type IntendResult<Intent, Result> = { readonly intent: Intent } | { readonly result: Result };

/**
 * The progress of an operation: nothing is recorded, the intent is recorded, the storage has acted, the
 * outcome is recorded.
 */
export type Step = {
  readonly point: 'before-intent' | 'after-intent' | 'after-commit' | 'before-answer';
  readonly kind: Resource['kind'];
  readonly operation: string;
};

export type OperationsOptions = {
  readonly engine: Engine;
  readonly queues?: Queues | undefined;
  /** A claim holds for this time after its process last renewed it, in milliseconds. */
  readonly leaseMs?: number | undefined;
  /** The time that an operation waits for locks and claims of other operations, in milliseconds. */
  readonly patienceMs?: number | undefined;
  /** Called at each step. An error from it ends the operation there, as a crash would. */
  readonly checkpoint?: ((step: Step) => void) | undefined;
};

type ActiveOperation = {
  /** The resource, as `keyOf` writes it. */
  readonly key: string;
  readonly operation: string;
  readonly subject: unknown;
  readonly part: string | undefined;
  /** The start of its run; until then, of its wait. */
  sinceMs: number;
  promise: Promise<unknown>;
  readonly waiters: Waiters;
};

export const defaultLeaseMs = 15_000;

const defaultPatienceMs = 10_000;
/**
 * The operations of one cluster that may wait for one resource in this process: twice the number that its
 * sidecars run at a time.
 */
const maxWaiting = 128;
/**
 * The average pause before the next try for another replica's claim, in milliseconds. Each pause differs, so
 * that no replica is always late.
 */
const claimPauseMs = 100;

const settleIntervalMs = 500;

/** Runs operations: one at a time for each resource, over all replicas that share the store. */
export type Operations = ReturnType<typeof createOperations>;

export function createOperations(options: OperationsOptions) {
  const { engine, queues = createQueues(), leaseMs = defaultLeaseMs, checkpoint } = options;
  const { patienceMs = defaultPatienceMs } = options;
  const owner = crypto.randomUUID();
  const lock = createKeyedLock<ActiveOperation>({ maxWaiting });
  const current = new Set<Promise<unknown>>();
  /** Refusals because another replica has a claim. */
  const refusals = new WeakSet<object>();
  const auditLog = createAuditLog(engine);

  async function intend<I, E, R>(
    work: Operation<I, E, R>,
    sql: Sql,
    requireSlot: SlotCheck,
  ): Promise<IntendResult<I, R>> {
    const { operation, claims } = work;
    await lockAll(sql, claims);
    // Statements that are sent together take only one round trip to a database on the network.
    const [outcome, ...found] = await Promise.all([
      work.intend(sql),
      ...claims.map(resource => claimTable.find(sql, resource)),
    ]);
    if ('result' in outcome) return outcome;
    requireSlot(slotRequestOf(work, work.pool?.(outcome.intent)));
    for (const [index, { kind, id }] of claims.entries()) {
      const busy = (holder: Claim): Problem => {
        const problem = busyProblem({ kind, id }, holder, true);
        refusals.add(problem);
        return problem;
      };
      await acquireClaim(sql, { kind, id, owner, operation }, { found: found[index], leaseMs, busy });
    }
    return outcome;
  }

  async function conclude<T>(
    claims: readonly Resource[],
    record: (sql: Sql) => Promise<T>,
    settle: () => Promise<void>,
  ): Promise<T> {
    let lost: Resource | undefined;
    try {
      return await engine.transaction(async sql => {
        await lockAll(sql, claims);
        for (const resource of claims)
          await releaseClaim(sql, { ...resource, owner }, () => lostProblem((lost = resource)));
        return record(sql);
      });
    } catch (error) {
      if (lost) await poll(() => tryToSettle(settle), { everyMs: settleIntervalMs, timeoutMs: leaseMs });
      throw error;
    }
  }

  async function whileRenewed<T>(claims: readonly Resource[], act: () => Promise<T>): Promise<T> {
    const renew = async (sql: Sql): Promise<void> => {
      for (const resource of claims) await renewClaim(sql, { ...resource, owner }, leaseMs);
    };
    // A failed renewal shows when the outcome is recorded: the claim is lost then.
    using _ = setInterval(() => void engine.transaction(renew).catch(() => undefined), leaseMs / 3);
    return await act();
  }

  /** Tries again, until `untilMs`, while other replicas have the claims. */
  async function whileClaimed<T>(begin: () => Promise<T>, untilMs: number): Promise<T> {
    for (;;)
      try {
        return await begin();
      } catch (error) {
        const isRefused = error instanceof Problem && refusals.has(error);
        if (!isRefused || performance.now() >= untilMs) throw error;
        await pause(claimPauseMs * (0.5 + Math.random()));
      }
  }

  /**
   * Performs the operation. `untilMs` ends the wait for claims of other replicas, in the time of
   * `performance.now()`.
   */
  async function perform<I, E, R>(
    work: Operation<I, E, R>,
    slotOptions: SlotOptions,
    untilMs = 0,
  ): Promise<R> {
    const { operation, claims, about } = work;
    const logged = auditLog.begin({ operation, ...claims[0], about });
    const reach = (point: Step['point']): void => checkpoint?.({ point, kind: claims[0].kind, operation });
    reach('before-intent');
    let isLate = startTimeLimit(0);
    const begin = () =>
      beginWithSlot(queues, slotOptions, requireSlot => {
        isLate = startTimeLimit(leaseMs);
        return engine.transaction(sql => intend(work, sql, requireSlot));
      });
    const beginWithRoom = () => whileShort(() => whileClaimed(begin, untilMs), work.makeRoom);
    const { outcome, slot } = await beginWithRoom().catch(logged.refused);
    using _ = slotOptions.held ? undefined : slot;
    if ('result' in outcome) return outcome.result;
    const { intent } = outcome;
    reach('after-intent');
    // Work that has begun ends in the same slot, even if every caller has left.
    const inSameSlot: SlotOptions = { goneProblem: () => undefined, held: slot };
    const undo = async (): Promise<void> => work.undo && perform(work.undo(intent), inSameSlot);
    const settle = async (): Promise<void> =>
      work.settle ? perform(await work.settle(intent), inSameSlot) : undo();
    const fail = async (problem: Problem): Promise<never> => {
      const record = async (sql: Sql): Promise<void> => {
        await work.fail(sql, { intent, problem });
        await logged.ended(sql, problem.code, wordsForOperators(problem));
      };
      await conclude(claims, record, settle);
      if (problemTable[problem.code].final) await undo().catch(failUndone);
      throw problem;
    };
    let effect: E;
    try {
      // After a pause longer than the lease, do not touch the storage: another replica may have taken over.
      if (isLate()) throw lostProblem(claims[0]);
      const act = (): Promise<E> => work.act(intent);
      effect = await whileRenewed(claims, slot ? () => slot.measure(act) : act);
    } catch (error) {
      return fail(asProblem(error));
    }
    reach('after-commit');
    const succeed = async (sql: Sql): Promise<R> => {
      await logged.ended(sql, 'OK');
      return work.succeed(sql, { intent, effect });
    };
    const result = await conclude(claims, succeed, settle).catch((error: unknown) => {
      const problem = asProblem(error);
      if (problemTable[problem.code].final) return fail(problem);
      throw error;
    });
    logged.count();
    reach('before-answer');
    return result;
  }

  /**
   * Performs the operation after earlier operations on the same resources. One time limit holds for all these
   * waits.
   */
  async function performInOrder<I, E, R>(work: Operation<I, E, R>, own: ActiveOperation): Promise<R> {
    const timeoutMs = patienceUntil(currentRequest()?.deadlineMs ?? Infinity, patienceMs);
    const untilMs = performance.now() + timeoutMs;
    const resources = new Map(work.claims.map(resource => [keyOf(resource), resource]));
    using _ = await lock.acquire(
      Array.from(resources.keys(), key => ({ key })),
      own,
      {
        party: clusterFor(work),
        timeoutMs,
        busy: (key, holder, isHeld) => busyProblem(resources.get(key) ?? work.claims[0], holder, isHeld),
      },
    );
    own.sinceMs = Date.now();
    return await perform(work, own.waiters, untilMs);
  }

  return {
    /**
     * Joins an equal operation that runs or waits, unless an operation behind it may undo it. Otherwise it
     * waits for other operations, at most some seconds; then it is ABORTED, and the message names the running
     * one and its start. UNAVAILABLE when too many operations wait at the pool. An operation without a
     * waiting caller does not begin. ABORTED, with nothing recorded, when another replica took over a claim
     * while the operation acted.
     */
    run<I, E, R>(work: Operation<I, E, R>): Promise<R> {
      const { operation, subject, part, claims } = work;
      const key = keyOf(claims[0]);
      const isSame = (other: ActiveOperation): boolean =>
        other.key === key && other.operation === operation && sameJson(other.subject, subject);
      const queue = lock.holders(key);
      const at = queue.findLastIndex(isSame);
      const same = queue[at];
      if (same && !queue.slice(at + 1).some(other => canAffect(other.part, part))) {
        same.waiters.join(currentRequest());
        return same.promise as Promise<R>;
      }
      const waiters = createWaiters(currentRequest());
      const none = Promise.resolve();
      const own: ActiveOperation = {
        key,
        operation,
        subject,
        part,
        sinceMs: Date.now(),
        promise: none,
        waiters,
      };
      const promise = performInOrder(work, own);
      own.promise = promise;
      current.add(promise);
      const forget = (): void => void current.delete(promise);
      promise.then(forget, forget);
      return promise;
    },
    /** Returns true while an operation on this part of the resource runs or waits in this process. */
    isActive(resource: Resource, part: string): boolean {
      return lock.holders(keyOf(resource)).some(one => one.part === part);
    },
    prepare: createPreparation(auditLog),
    /** Runs a change without storage. */
    change: auditLog.change,
    noteRefusal: auditLog.noteRefusal,
    /** Returns the waiting and running operations of this process, by pool and cluster. */
    queues: () => queues.show(),
    /** Resolves once no operation runs in this process. */
    async idle(): Promise<void> {
      while (current.size > 0) await Promise.allSettled(current);
    },
  };
}

/** Returns true when operations on these parts of one resource may change the same thing. */
function canAffect(one: string | undefined, other: string | undefined): boolean {
  return one === undefined || other === undefined || one === other;
}

type ClaimedOperation = Pick<Operation<never, never, never>, 'operation' | 'claims'>;

function slotRequestOf(work: ClaimedOperation, pool: string | undefined): SlotRequest | undefined {
  if (pool === undefined) return undefined;
  const { operation, claims } = work;
  const [{ kind, id }] = claims;
  return { pool, cluster: clusterFor(work), operation, resource: `${kind}/${id}` };
}

/** Finds the cluster whose queue the operation joins: the caller's, or else the resource owner's. */
function clusterFor({ claims }: ClaimedOperation): string {
  return currentRequest()?.caller.cluster?.name ?? clusterOf(claims[0].id) ?? '';
}

/** Locks the resources in the store. Every transaction that decides calls it first. */
async function lockAll(sql: Sql, resources: readonly Resource[]): Promise<void> {
  for (const { kind, id } of resources) await sql.lock(kind, id);
}

function busyProblem(
  { kind, id }: Resource,
  { operation, sinceMs }: Pick<Claim, 'operation' | 'sinceMs'>,
  isHeld: boolean,
): Problem {
  const doing = isHeld ? 'running' : 'waiting';
  const since = new Date(sinceMs).toISOString();
  return new Problem('ABORTED', `${kind} "${id}" is busy: ${operation} has been ${doing} since ${since}`);
}

function lostProblem({ kind, id }: Resource): Problem {
  return new Problem(
    'ABORTED',
    `${kind} "${id}" was taken over by another replica, because this operation took too long`,
  );
}

/**
 * Settles; undefined while other operations hold the claims. Data that cannot be removed carry a nonce that
 * no record has.
 */
function tryToSettle(settle: () => Promise<void>): Promise<true | undefined> {
  return settle().then(
    () => true,
    (error: unknown) => asProblem(error).code !== 'ABORTED' || undefined,
  );
}

/** Reports a final failure only after the clean-up has succeeded. */
function failUndone(error: unknown): never {
  const { detail, reason } = asProblem(error);
  const words = 'the clean-up after a failure is not complete yet, try again: ';
  throw Object.assign(
    unavailableProblem(words + detail, error),
    reason !== undefined && { reason: words + reason },
  );
}

function keyOf({ kind, id }: Resource): string {
  return `${kind} ${id}`;
}
