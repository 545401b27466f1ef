import { withinTime } from '../../lib/concurrency.ts';
import type { AnyAnswer } from './operations.ts';

/** A change: the resource that it changes, the whole request as text, and how long the caller waits. */
export type Change = { readonly resource: string; readonly request: string; readonly waitMs: number };

type Job = { readonly request: string; readonly work: Promise<AnyAnswer> };

/** Lifetime of an outcome that no caller has waited for. */
const keepMs = 60_000;

/**
 * Creates a queue that runs one change at a time; if resources are independent, one change of each. A change that outlasts
 * its caller's wait is answered with 202 and continues. An equal request joins it, or gets its outcome for a minute after
 * its end, and does not start it again.
 */
export function createChanges(areIndependent = false) {
  const jobs = new Map<string, Job>();
  const last = new Map<string, Promise<unknown>>();

  function begin({ resource, request }: Change, run: () => AnyAnswer | Promise<AnyAnswer>): Job {
    const queue = areIndependent ? resource : '';
    const job = { request, work: (last.get(queue) ?? Promise.resolve()).then(run) };
    jobs.set(resource, job);
    const forget = (): void => void (jobs.get(resource) === job && jobs.delete(resource));
    const ended = job.work.then(Boolean, Boolean).then(() => void setTimeout(forget, keepMs).unref());
    last.set(queue, ended);
    const isLast = (): boolean => last.get(queue) === ended;
    void ended.finally(() => isLast() && last.delete(queue));
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
