import { AsyncLocalStorage } from 'node:async_hooks';
import { callerGone, Problem } from '../../src/api/problem.ts';
import type { ServedRequest } from '../backend.ts';
import type { Caller } from '../callers/caller.ts';

/** The request that the present work serves, wherever in the gateway that work is. */
export type CurrentRequest = ServedRequest & {
  readonly caller: Caller;
  /** Returns true when the caller left before it got an answer. */
  isGone(): boolean;
};

const storage = new AsyncLocalStorage<CurrentRequest>();

/** Runs work, and all that it starts, for the request. */
export function withRequest<T>(request: CurrentRequest, work: () => T): T {
  return storage.run(request, work);
}

/**
 * Returns the request that the present code works for; undefined for work that the gateway does by itself,
 * such as recovery.
 */
export function currentRequest(): CurrentRequest | undefined {
  return storage.getStore();
}

const late = new Problem('DEADLINE_EXCEEDED', 'the caller has given up: its deadline is over');

/** Returns the reason why the caller no longer waits: it has left, or its deadline is over. */
export function findGoneProblem({ deadlineMs, isGone }: CurrentRequest): Problem | undefined {
  if (deadlineMs !== undefined && Date.now() >= deadlineMs) return late;
  return isGone() ? callerGone : undefined;
}

/**
 * Throws when the caller no longer waits. Call it before work begins, or continues without a result so far.
 * Work without a request always goes on.
 */
export function requireCaller(): void {
  const request = currentRequest();
  const problem = request && findGoneProblem(request);
  if (problem) throw problem;
}
