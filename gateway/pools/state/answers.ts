import {
  asProblem,
  failures,
  type Outage,
  type ProblemCode,
  wordsForOperators,
} from '../../../src/api/problem.ts';
import type { Backend } from '../../backend.ts';
import { currentRequest } from '../../scheduling/current-request.ts';
import { wrapCalls } from '../backend-proxy.ts';

/** A failed call of a pool's storage. */
export type Failure = {
  readonly atMs: number;
  readonly method: string;
  readonly code: ProblemCode;
  readonly detail: string;
  /** The request that made the call; absent for the gateway's own work. */
  readonly requestId?: string;
};

/** Calls that ended since the pool was opened, without questions. */
export type CallCounts = { readonly calls: number; readonly failedCalls: number };

/** The record of a storage's answers. The counts are of work, not of questions to the storage. */
type AnswersState = {
  /** False: the last call failed. */
  readonly answers: boolean;
  /** How the last call failed; undefined if it did not, or if the storage was not asked. */
  readonly outage: Outage | undefined;
  /** The last answer, or if it is later the start of the first call that failed since then, or of the unanswered question. */
  readonly failingSinceMs: number | undefined;
  readonly calls: number;
  readonly failedCalls: number;
  readonly lastFailure: Failure | undefined;
  /** The last failures of work, the newest first. */
  readonly recentFailures: readonly Failure[];
  /** The call that has been running for the longest time. */
  readonly oldestCall: RunningCall | undefined;
};

type RunningCall = { readonly method: string; readonly sinceMs: number };

/** The answers of one pool's storage to this gateway since its start. */
export type Answers = ReturnType<typeof createAnswers>;

/** Calls of this time are counted, in milliseconds. */
const recentMs = 300_000;
/** Calls are counted in steps of this time, in milliseconds. */
const stepMs = 10_000;
/** The number of failures of work that are kept. */
const maxFailures = 10;

/** Methods that only ask the storage. */
const questions: ReadonlySet<string> = new Set(['capacity', 'available', 'reach', 'volumeHealth']);

export function createAnswers(nowMs: () => number = Date.now) {
  const counts = new Map<number, { calls: number; failed: number }>();
  const running = new Set<RunningCall>();
  let total: CallCounts = { calls: 0, failedCalls: 0 };
  let failing: { readonly outage: Outage | undefined; readonly sinceMs: number } | undefined;
  let answeredMs = -Infinity;
  /** The last failures of work, the newest first, and the last one of a question. */
  let ofWork: readonly Failure[] = [];
  let ofQuestion: Failure | undefined;
  let question: Promise<unknown> | undefined;

  function count(isFailed: boolean): void {
    const step = Math.floor(nowMs() / stepMs);
    const own = counts.getOrInsertComputed(step, () => ({ calls: 0, failed: 0 }));
    own.calls++;
    own.failed += Number(isFailed);
    total = { calls: total.calls + 1, failedCalls: total.failedCalls + Number(isFailed) };
    forgetOld();
  }

  function answered(): void {
    failing = undefined;
    answeredMs = nowMs();
  }

  function forgetOld(): void {
    for (const step of counts.keys()) if (step * stepMs <= nowMs() - recentMs) counts.delete(step);
  }

  function note({ method, sinceMs }: RunningCall, error: unknown): void {
    const problem = asProblem(error);
    const { code, outage } = problem;
    const detail = wordsForOperators(problem);
    const isFailed = failures.has(code);
    if (isFailed) failing = { outage, sinceMs: failing?.sinceMs ?? sinceMs };
    else answered();
    const isQuestion = questions.has(method);
    if (!isQuestion) count(isFailed);
    if (!isFailed && code !== 'RESOURCE_EXHAUSTED') return;
    const requestId = currentRequest()?.requestId;
    const failure = { atMs: nowMs(), method, code, detail, ...(requestId !== undefined && { requestId }) };
    if (isQuestion) ofQuestion = failure;
    else ofWork = [failure, ...ofWork].slice(0, maxFailures);
  }

  /** Prefers a recent failure of work, because questions are asked every few seconds. */
  function lastFailure(): Failure | undefined {
    const [last] = ofWork;
    const isRecent = last && last.atMs > nowMs() - recentMs;
    return isRecent || (last?.atMs ?? 0) > (ofQuestion?.atMs ?? 0) ? last : ofQuestion;
  }

  return {
    watch(backend: Backend): Backend {
      return wrapCalls(backend, async ({ method }, run) => {
        const call = { method, sinceMs: nowMs() };
        running.add(call);
        try {
          const result = await run();
          answered();
          if (!questions.has(method)) count(false);
          return result;
        } catch (error) {
          note(call, error);
          throw error;
        } finally {
          running.delete(call);
        }
      });
    },
    /** Asks the storage, or joins the same question that it has not answered yet. */
    async ask<T>(own: () => Promise<T>): Promise<T> {
      const asked = (question ??= own().finally(() => (question = undefined)));
      return asked as Promise<T>;
    },
    count: () => total,
    show(): AnswersState {
      forgetOld();
      const all = [...counts.values()];
      const oldestCall = running.values().find(({ method }) => !questions.has(method));
      const oldestQuestion = running.values().find(({ method }) => questions.has(method));
      const sinceMs = failing?.sinceMs ?? oldestQuestion?.sinceMs;
      return {
        answers: !failing,
        outage: failing?.outage,
        failingSinceMs: sinceMs && Math.max(sinceMs, answeredMs),
        calls: all.reduce((sum, { calls }) => sum + calls, 0),
        failedCalls: all.reduce((sum, { failed }) => sum + failed, 0),
        lastFailure: lastFailure(),
        recentFailures: ofWork,
        oldestCall,
      };
    },
  };
}
