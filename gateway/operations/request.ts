import { AsyncLocalStorage } from 'node:async_hooks';
import type { Caller } from '../tenancy/caller.ts';

/** What is known, wherever it is worked on, of the request that is being served. */
export type CurrentRequest = {
  /** Names the request in logs on both sides. */
  readonly requestId: string;
  readonly caller: Caller;
  /** When the caller gives up, in milliseconds since the epoch, where it said so. */
  readonly deadlineMs?: number | undefined;
  /** The caller's `traceparent`, where it sent one. */
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
