import { withinTime } from '../../src/lib/concurrency.ts';
import type { AnyAnswer } from './operations.ts';

/** A change: the resource that it is made to, the whole request as text, and how long the caller waits. */
export type Change = { readonly resource: string; readonly request: string; readonly waitMs: number };

type Job = { readonly request: string; readonly work: Promise<AnyAnswer> };

/** How long the outcome is remembered of work that nobody waited for. */
const rememberMs = 60_000;

/**
 * Runs one change after the other. What takes longer than its caller waits is answered 202 and goes on; the same request
 * joins it, or learns how it ended, for a minute. Nothing is begun anew until somebody knows how it ended.
 */
export function createChanges() {
  const jobs = new Map<string, Job>();
  let last: Promise<unknown> = Promise.resolve();

  function begin({ resource, request }: Change, run: () => AnyAnswer | Promise<AnyAnswer>): Job {
    const job = { request, work: last.then(run) };
    jobs.set(resource, job);
    const forget = (): void => void (jobs.get(resource) === job && jobs.delete(resource));
    last = job.work.then(Boolean, Boolean).then(() => void setTimeout(forget, rememberMs).unref());
    return job;
  }

  return async (change: Change, run: () => AnyAnswer | Promise<AnyAnswer>): Promise<AnyAnswer> => {
    const known = jobs.get(change.resource);
    const job = known?.request === change.request ? known : begin(change, run);
    const ended = await withinTime(job.work.then(Boolean, Boolean), change.waitMs);
    if (!ended) return [202];
    if (jobs.get(change.resource) === job) jobs.delete(change.resource);
    return job.work;
  };
}
