import { withinTime } from '../../lib/concurrency.ts';
import type { AnyAnswer } from './operations.ts';

export type Change = {
  /** The resource that it changes. */
  readonly resource: string;
  /** The resources that it reads, such as the snapshot that a new volume is made from. */
  readonly sources: readonly string[];
  /** The whole request as text. */
  readonly request: string;
  /** How long the caller waits. */
  readonly waitMs: number;
};

type Job = { readonly request: string; readonly work: Promise<AnyAnswer> };

/** Lifetime of an outcome that no caller has waited for. */
const keepMs = 60_000;

/**
 * Creates a queue that runs one change at a time; if resources are independent, one change of each, and none while another
 * change reads the resource. The deletion of a group does not wait for reads of its members. A change that outlasts its
 * caller's wait is answered with 202 and continues. An equal request joins it, or gets its outcome for a minute after its
 * end, and does not start it again.
 */
export function createChanges(areIndependent = false) {
  const jobs = new Map<string, Job>();
  const turns = createTurns();

  function begin({ resource, sources, request }: Change, run: () => AnyAnswer | Promise<AnyAnswer>): Job {
    const work = areIndependent ? turns(resource, sources, run) : turns('', [], run);
    const job = { request, work };
    jobs.set(resource, job);
    const forget = (): void => void (jobs.get(resource) === job && jobs.delete(resource));
    void work.then(Boolean, Boolean).then(() => void setTimeout(forget, keepMs).unref());
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

/** Runs works in the order of their calls. Reads of a resource run at the same time; each change of it runs alone. */
function createTurns() {
  const changed = new Map<string, Promise<unknown>>();
  const used = new Map<string, Promise<unknown>>();
  const mark = (ends: typeof used, resource: string, end: Promise<unknown>): void => {
    ends.set(resource, end);
    void end.finally(() => ends.get(resource) === end && ends.delete(resource));
  };

  return <T>(resource: string, sources: readonly string[], run: () => T | Promise<T>): Promise<T> => {
    const before = [used.get(resource), ...sources.map(source => changed.get(source))];
    const work = Promise.all(before).then(() => run());
    const end = work.then(Boolean, Boolean);
    for (const ends of [changed, used]) mark(ends, resource, end);
    for (const source of sources) mark(used, source, Promise.all([used.get(source), end]));
    return work;
  };
}
