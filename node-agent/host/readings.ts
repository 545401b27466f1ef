import { setTimeout as sleep } from 'node:timers/promises';
import type { ExecResult } from '../../src/lib/exec.ts';
import type { Agent } from '../volumes/agent.ts';
import type { ReadingFault } from '../state/cache.ts';
import { describeWaiting } from './stuck-commands.ts';

/** What to run, to learn how a volume is. */
export type Reading = {
  readonly volumeId: string;
  readonly operation: string;
  readonly command: string;
  readonly args: readonly string[];
};

/** The command's result; or why there is none yet. */
export type Answer = { readonly result: ExecResult } | { readonly hangs: string };

/** Reads volumes through commands, and answers within a second whether they end or not. */
export type Readings = (reading: Reading) => Promise<Answer>;

/** How long an answer may take. */
const answerMs = 900;
/** How long a command may run; its result is of no use to anybody by then. */
const commandMs = 5_000;

type Run = { readonly key: string; readonly work: Promise<ExecResult> };

/**
 * Makes readings. At most one command runs for one volume: who asks for the same meanwhile waits for its end, and
 * for a volume with a command that could not be killed none is started.
 */
export function createReadings(agent: Pick<Agent, 'host' | 'watch' | 'memory'>): Readings {
  const read = createReader(agent);
  return async reading => {
    const answer = await read(reading);
    agent.memory.setFault(reading.volumeId, faultOf(answer));
    return answer;
  };
}

function faultOf(answer: Answer): ReadingFault | undefined {
  if ('hangs' in answer) return 'Hung';
  return answer.result.status === 0 ? undefined : 'ReadFailed';
}

function createReader({ host, watch }: Pick<Agent, 'host' | 'watch'>): Readings {
  const underWay = new Map<string, Run>();
  const takeTurn = createTurns();
  const start = (reading: Reading, key: string): Run => {
    const { volumeId, operation, command, args } = reading;
    const own = watch.hostFor(volumeId, operation, host);
    const work = takeTurn()
      .then(() => own.run(command, args, { timeoutMs: commandMs }))
      .finally(() => underWay.delete(volumeId));
    underWay.set(volumeId, { key, work });
    return { key, work };
  };
  return async reading => {
    const { volumeId, operation, command, args } = reading;
    const untilMs = performance.now() + answerMs;
    const key = [command, ...args].join(' ');
    const other = underWay.get(volumeId);
    if (other && other.key !== key) await within(untilMs, other.work);
    const stuck = watch.stuck(volumeId);
    if (stuck) return { hangs: describeWaiting(stuck) };
    const current = underWay.get(volumeId) ?? start(reading, key);
    if (current.key !== key) return { hangs: `"${current.key}" does not end` };
    const result = await within(untilMs, current.work);
    if (!result) return { hangs: `${operation} waits on "${key}"` };
    return result.timedOut ? { hangs: `"${key}" did not end` } : { result };
  };
}

/** To start a command takes this process some milliseconds: many at once let other calls in between. */
function createTurns(): () => Promise<void> {
  let last = Promise.resolve();
  return () => (last = last.then(() => new Promise(resolve => void setImmediate(resolve))));
}

async function within(untilMs: number, work: Promise<ExecResult>): Promise<ExecResult | undefined> {
  const timer = new AbortController();
  const leftMs = Math.max(0, untilMs - performance.now());
  try {
    return await Promise.race([work, sleep(leftMs, undefined, { signal: timer.signal })]);
  } finally {
    timer.abort();
  }
}
