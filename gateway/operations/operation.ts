import { asProblem, Problem, problemTable, unavailableProblem } from '../../src/api/problem.ts';
import { poll, startTimeLimit } from '../../src/lib/concurrency.ts';
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
import { createAuditLog } from '../tenancy/audit-log.ts';
import { createQueues, type Queues, type Turn } from '../pools/queues.ts';
import { type Askers, createAskers } from './askers.ts';
import { type Asking, beginInTurn, type RequireTurn } from './in-turn.ts';
import { currentRequest } from './request.ts';

/**
 * One operation, in the order of its members: record the intent and claim, act, record the outcome and free. `intend`,
 * `succeed` and `fail` are transactions, and may run twice; `act` runs between them, alone for what is claimed over all
 * replicas.
 */
export interface Operation<Intent, Effect, Result> {
  readonly operation: string;
  /** What was asked, as plain data: the same operation with the same subject joins the one that runs. */
  readonly subject: unknown;
  /** What else the log of what was done is to say, such as the node. */
  readonly about?: string;
  /** What the operation is about, and then what else it needs for itself. */
  readonly claims: readonly [Resource, ...Resource[]];
  /** Whose storage acts. It begins, and records anything, only in its turn there; absent: nothing is acted on. */
  pool?(intent: Intent): string | undefined;
  /** What it records stays only when all claims could be taken. */
  intend(sql: Sql): Promise<Intended<Intent, Result>>;
  act(intent: Intent): Promise<Effect>;
  /** All claims are proved to be the operation's own before. What it refuses for good is a failure as one of `act` is. */
  succeed(sql: Sql, done: { readonly intent: Intent; readonly effect: Effect }): Promise<Result>;
  /** What stays recorded is what a retry goes on from. All claims are proved to be the operation's own before. */
  fail(sql: Sql, failed: { readonly intent: Intent; readonly problem: Problem }): Promise<void>;
  /**
   * What removes what `act` left, under claims of its own, after a failure that is final is recorded, which is reported
   * only once this is done.
   */
  undo?(intent: Intent): Operation<unknown, unknown, void>;
  /**
   * What makes the storage again as it is recorded, under claims of its own, when a claim was lost, so that others may have
   * ended what was begun before `act` did its part. Absent: `undo`.
   */
  settle?(intent: Intent): Operation<unknown, unknown, void> | Promise<Operation<unknown, unknown, void>>;
}

/** Either what is to be done, now recorded, or the result because nothing is to be done. */
export type Intended<Intent, Result> = { readonly intent: Intent } | { readonly result: Result };

/** How far an operation has come: nothing is recorded, the intent is, the storage has acted, the outcome is recorded. */
export type Step = {
  readonly point: 'before-intent' | 'after-intent' | 'after-commit' | 'before-answer';
  readonly kind: Resource['kind'];
  readonly operation: string;
};

/** What operations work with. */
export type OperationsOptions = {
  readonly engine: Engine;
  /** Where operations wait for their turn at a pool. */
  readonly queues?: Queues | undefined;
  /** How long a claim holds after its process last renewed it. */
  readonly leaseMs?: number | undefined;
  /** Called at each step, before the operation goes on; what it throws ends the operation there, as a crash would. */
  readonly checkpoint?: ((step: Step) => void) | undefined;
};

type Running = {
  /** What the operation is about, as `keyOf` has it. */
  readonly key: string;
  readonly operation: string;
  readonly subject: unknown;
  readonly sinceMs: number;
  readonly promise: Promise<unknown>;
  readonly askers: Askers;
};

/** How long a claim holds when nothing else is set, in milliseconds. */
export const defaultLeaseMs = 15_000;

/** How often what others are at work on is tried again, in milliseconds. */
const settleEveryMs = 500;

/** Runs operations: one at a time for each resource, over all replicas that share the store. */
export type Operations = ReturnType<typeof createOperations>;

/** Makes the operations of one process. */
export function createOperations(options: OperationsOptions) {
  const { engine, queues = createQueues(), leaseMs = defaultLeaseMs, checkpoint } = options;
  const owner = crypto.randomUUID();
  const running = new Map<string, Running>();
  const audit = createAuditLog(engine);

  async function intend<I, E, R>(
    asked: Operation<I, E, R>,
    sql: Sql,
    requireTurn: RequireTurn,
  ): Promise<Intended<I, R>> {
    const { operation, claims } = asked;
    await lockAll(sql, claims);
    // What is asked for together takes one way to a database that is reached over a network.
    const [intended, ...found] = await Promise.all([
      asked.intend(sql),
      ...claims.map(resource => claimTable.find(sql, resource)),
    ]);
    if ('result' in intended) return intended;
    requireTurn(turnOf(asked, asked.pool?.(intended.intent)));
    for (const [index, { kind, id }] of claims.entries()) {
      const busy = (holder: Claim): Problem => busyProblem({ kind, id }, holder);
      await acquireClaim(sql, { kind, id, owner, operation }, { found: found[index], leaseMs, busy });
    }
    return intended;
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
      if (lost) await poll(() => tryToSettle(settle), { everyMs: settleEveryMs, timeoutMs: leaseMs });
      throw error;
    }
  }

  async function whileRenewed<T>(claims: readonly Resource[], act: () => Promise<T>): Promise<T> {
    const renew = async (sql: Sql): Promise<void> => {
      for (const resource of claims) await renewClaim(sql, { ...resource, owner }, leaseMs);
    };
    // A renewal that fails is seen when the outcome is recorded: the claim is lost then.
    using _ = setInterval(() => void engine.transaction(renew).catch(() => undefined), leaseMs / 3);
    return await act();
  }

  async function perform<I, E, R>(asked: Operation<I, E, R>, asking: Asking): Promise<R> {
    const { operation, claims, about } = asked;
    const audited = audit.begin({ operation, ...claims[0], about });
    const reach = (point: Step['point']): void => checkpoint?.({ point, kind: claims[0].kind, operation });
    reach('before-intent');
    let isLate = startTimeLimit(0);
    const { begun: intended, slot } = await beginInTurn(queues, asking, requireTurn => {
      isLate = startTimeLimit(leaseMs);
      return engine.transaction(sql => intend(asked, sql, requireTurn));
    }).catch(audited.refused);
    using _ = asking.held ? undefined : slot;
    if ('result' in intended) return intended.result;
    const { intent } = intended;
    reach('after-intent');
    // What is begun is ended, whoever is gone, and in the same turn.
    const part: Asking = { unwanted: () => undefined, held: slot };
    const undo = async (): Promise<void> => asked.undo && perform(asked.undo(intent), part);
    const settle = async (): Promise<void> =>
      asked.settle ? perform(await asked.settle(intent), part) : undo();
    const fail = async (problem: Problem): Promise<never> => {
      const record = async (sql: Sql): Promise<void> => {
        await asked.fail(sql, { intent, problem });
        await audited.ended(sql, problem.code);
      };
      await conclude(claims, record, settle);
      if (problemTable[problem.code].final) await undo().catch(failUndone);
      throw problem;
    };
    let effect: E;
    try {
      // Who stood still for as long as its claims hold leaves the storage alone: others may be at work.
      if (isLate()) throw lostProblem(claims[0]);
      const act = (): Promise<E> => asked.act(intent);
      effect = await whileRenewed(claims, slot ? () => slot.measure(act) : act);
    } catch (error) {
      return fail(asProblem(error));
    }
    reach('after-commit');
    const succeed = async (sql: Sql): Promise<R> => {
      await audited.ended(sql, 'OK');
      return asked.succeed(sql, { intent, effect });
    };
    const result = await conclude(claims, succeed, settle).catch((error: unknown) => {
      const problem = asProblem(error);
      if (problemTable[problem.code].final) return fail(problem);
      throw error;
    });
    reach('before-answer');
    return result;
  }

  return {
    /**
     * Joins the same operation when it runs already; ABORTED at once, naming what runs and since when, when another does, and
     * UNAVAILABLE when too many wait at the pool. What nobody waits for any more when its turn comes does not begin.
     * ABORTED, with nothing recorded, when a claim was taken over while the operation acted.
     */
    run<I, E, R>(asked: Operation<I, E, R>): Promise<R> {
      const { operation, subject, claims } = asked;
      const [key = '', ...others] = claims.map(keyOf);
      const same = running.get(key);
      if (same?.key === key && same.operation === operation && sameJson(same.subject, subject)) {
        same.askers.join(currentRequest());
        return same.promise as Promise<R>;
      }
      for (const resource of claims) {
        const current = running.get(keyOf(resource));
        if (current) return Promise.reject(busyProblem(resource, current));
      }
      const askers = createAskers(currentRequest());
      const used = [key, ...others];
      const promise = perform(asked, askers).finally(() => used.forEach(one => running.delete(one)));
      const own = { key, operation, subject, sinceMs: Date.now(), promise, askers };
      for (const one of used) running.set(one, own);
      return promise;
    },
    /** Of what changes without any storage. */
    change: audit.change,
    /** What waits for its turn in this process, and runs, by pool and cluster. */
    queues: () => queues.show(),
    /** Resolves once nothing runs in this process. */
    async idle(): Promise<void> {
      while (running.size > 0) await Promise.allSettled([...running.values()].map(({ promise }) => promise));
    },
  };
}

/** Its place is that of the cluster that asks, or, where nobody does, of whose it is. */
function turnOf(
  { operation, claims }: Pick<Operation<never, never, never>, 'operation' | 'claims'>,
  pool: string | undefined,
): Turn | undefined {
  const cluster = currentRequest()?.caller.cluster?.name ?? clusterOf(claims[0].id) ?? '';
  return pool === undefined ? undefined : { pool, cluster, operation };
}

/** Comes first in each transaction that decides. */
async function lockAll(sql: Sql, resources: readonly Resource[]): Promise<void> {
  for (const { kind, id } of resources) await sql.lock(kind, id);
}

function busyProblem({ kind, id }: Resource, holder: Pick<Claim, 'operation' | 'sinceMs'>): Problem {
  const since = new Date(holder.sinceMs).toISOString();
  return new Problem('ABORTED', `${kind} "${id}" is busy: ${holder.operation} runs since ${since}`);
}

function lostProblem({ kind, id }: Resource): Problem {
  return new Problem('ABORTED', `${kind} "${id}" is worked on elsewhere now: this took too long`);
}

/** Undefined while others are at work. What cannot be removed carries a nonce that nobody takes for its own. */
function tryToSettle(settle: () => Promise<void>): Promise<true | undefined> {
  return settle().then(
    () => true,
    (error: unknown) => asProblem(error).code !== 'ABORTED' || undefined,
  );
}

/** A failure is final only once nothing is left of what was begun. */
function failUndone(error: unknown): never {
  throw unavailableProblem(`what was begun cannot be undone yet: ${asProblem(error).detail}`, error);
}

function keyOf({ kind, id }: Resource): string {
  return `${kind} ${id}`;
}
