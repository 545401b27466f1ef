import { asProblem, Problem } from '../../src/api/problem.ts';
import { sameJson } from '../../src/lib/json.ts';
import { renewClaims, type Claim, type Claimed, type Resource } from '../tables/claims.ts';
import type { Engine, Sql } from '../store.ts';

/**
 * One operation, in the order of its members: record the intent under a claim, act, record the outcome and free what
 * was claimed. `intend`, `succeed` and `fail` are transactions; `act` runs between them, alone for these resources over
 * all replicas.
 */
export interface Task<Intent, Effect, Result> {
  /** What the operation is about, and then what it needs for itself beside that. */
  readonly resources: readonly [Resource, ...Resource[]];
  readonly operation: string;
  /** What was asked, as plain data: the same operation with the same subject joins the one that runs. */
  readonly subject: unknown;
  intend(sql: Sql, claim: Claim): Promise<Intended<Intent, Result>>;
  act(intent: Intent): Promise<Effect>;
  succeed(sql: Sql, done: { readonly intent: Intent; readonly effect: Effect }): Promise<Result>;
  /** What stays recorded is what a retry goes on from. */
  fail(sql: Sql, failed: { readonly intent: Intent; readonly problem: Problem }): Promise<void>;
}

/** Either what is to be done, now recorded, or the result because nothing is to be done. */
export type Intended<Intent, Result> = { readonly intent: Intent } | { readonly result: Result };

/** Runs tasks: one at a time for each resource, over all replicas that share the store. */
export interface Work {
  /** Names this process in claims. */
  readonly owner: string;
  /** Joins the same task when it runs already; ABORTED at once, naming what runs, when another does. */
  run<Intent, Effect, Result>(task: Task<Intent, Effect, Result>): Promise<Result>;
  /** ABORTED when another process works on the resource. */
  requireFree(resource: Claimed): void;
  /** Resolves once nothing runs in this process. */
  idle(): Promise<void>;
}

/** How far the work on a resource has come: nothing is recorded, the intent is, the storage has done it, the outcome is. */
export type WorkStep = {
  readonly point: 'before-intent' | 'after-intent' | 'after-commit' | 'before-answer';
  readonly kind: 'volume' | 'snapshot' | 'group';
  readonly operation: string;
};

/** `leaseMs` is how long a claim holds after its process was last heard of; `checkpoint` is told of each step. */
export type WorkOptions = {
  readonly engine: Engine;
  readonly leaseMs?: number;
  readonly checkpoint?: ((step: WorkStep) => void) | undefined;
};

type Running = {
  /** What the operation is about, as `keyOf` has it. */
  readonly key: string;
  readonly operation: string;
  readonly subject: unknown;
  readonly sinceMs: number;
  readonly promise: Promise<unknown>;
};

const defaultLeaseMs = 15_000;

/** Makes the work of one process. */
export function createWork({ engine, leaseMs = defaultLeaseMs, checkpoint }: WorkOptions): Work {
  const owner = crypto.randomUUID();
  const running = new Map<string, Running>();

  async function perform<I, E, R>(task: Task<I, E, R>): Promise<R> {
    const { operation } = task;
    const [{ kind }] = task.resources;
    const reach = (point: WorkStep['point']): void => checkpoint?.({ point, kind, operation });
    reach('before-intent');
    const sinceMs = Date.now();
    const claim = { owner, operation, sinceMs, untilMs: sinceMs + leaseMs };
    const intended = await engine.transaction(sql => task.intend(sql, claim));
    if ('result' in intended) return intended.result;
    const { intent } = intended;
    reach('after-intent');
    let effect: E;
    try {
      effect = await whileRenewed(task.resources, () => task.act(intent));
    } catch (error) {
      const problem = asProblem(error);
      await engine.transaction(sql => task.fail(sql, { intent, problem }));
      throw problem;
    }
    reach('after-commit');
    const result = await engine.transaction(sql => task.succeed(sql, { intent, effect }));
    reach('before-answer');
    return result;
  }

  async function whileRenewed<T>(resources: readonly Resource[], act: () => Promise<T>): Promise<T> {
    const renew = (): void => {
      const untilMs = Date.now() + leaseMs;
      // A renewal that fails is seen when the outcome is recorded: the claim is lost then.
      engine.transaction(sql => renewClaims(sql, resources, { owner, untilMs })).catch(() => undefined);
    };
    const timer = setInterval(renew, leaseMs / 3);
    try {
      return await act();
    } finally {
      clearInterval(timer);
    }
  }

  return {
    owner,
    run<I, E, R>(task: Task<I, E, R>): Promise<R> {
      const { resources, operation, subject } = task;
      const keys = resources.map(keyOf);
      const [key = ''] = keys;
      const same = running.get(key);
      if (same?.key === key && same.operation === operation && sameJson(same.subject, subject))
        return same.promise as Promise<R>;
      for (const resource of resources) {
        const current = running.get(keyOf(resource));
        if (current) return Promise.reject(busy(resource, current));
      }
      const promise = perform(task).finally(() => keys.forEach(used => running.delete(used)));
      for (const used of keys) running.set(used, { key, operation, subject, sinceMs: Date.now(), promise });
      return promise;
    },
    requireFree({ kind, id, claim }) {
      if (claim && claim.owner !== owner && claim.untilMs > Date.now()) throw busy({ kind, id }, claim);
    },
    async idle() {
      while (running.size > 0) await Promise.allSettled([...running.values()].map(({ promise }) => promise));
    },
  };
}

/** The outcome of work may be recorded only by whoever still holds the claim: ABORTED otherwise. */
export function requireHeld(held: boolean, { kind, id }: Resource): void {
  if (!held) throw new Problem('ABORTED', `the work on ${kind} "${id}" took too long and was taken over`);
}

function busy({ kind, id }: Resource, { operation, sinceMs }: Pick<Claim, 'operation' | 'sinceMs'>): Problem {
  return new Problem(
    'ABORTED',
    `${kind} "${id}" is busy: ${operation} runs since ${new Date(sinceMs).toISOString()}`,
  );
}

function keyOf({ kind, id }: Resource): string {
  return `${kind} ${id}`;
}
