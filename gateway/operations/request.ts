import { AsyncLocalStorage } from 'node:async_hooks';
import { callerGone, Problem } from '../../src/api/problem.ts';
import type { Caller } from '../tenancy/caller.ts';

/** What is known, wherever it is worked on, of the request that is being served. */
export type CurrentRequest = {
  /** Names the request in logs on both sides. */
  readonly requestId: string;
  readonly caller: Caller;
  /** When the caller gives up, in milliseconds since the epoch, where it said so. */
  readonly deadlineMs?: number | undefined;
  /** The trace that this is part of, for what is asked of others. */
  readonly traceparent?: string | undefined;
  /** Whether the caller has gone away before it was answered. */
  isGone(): boolean;
};

const storage = new AsyncLocalStorage<CurrentRequest>();

/** Runs work, and all that it begins, as that of the request. */
export function withRequest<T>(request: CurrentRequest, work: () => T): T {
  return storage.run(request, work);
}

/** The request that the caller of this works for; undefined for what the gateway does by itself, as when it recovers. */
export function currentRequest(): CurrentRequest | undefined {
  return storage.getStore();
}

const late = new Problem('DEADLINE_EXCEEDED', 'the caller has given up');

/** Why the request is not wanted any more: its caller has gone away or given up. */
export function unwantedProblem({ deadlineMs, isGone }: CurrentRequest): Problem | undefined {
  if (deadlineMs !== undefined && Date.now() >= deadlineMs) return late;
  return isGone() ? callerGone : undefined;
}

/** Comes before work begins, or goes on that nothing has come of yet. What nobody asked for is wanted. */
export function requireWanted(): void {
  const request = currentRequest();
  const problem = request && unwantedProblem(request);
  if (problem) throw problem;
}
