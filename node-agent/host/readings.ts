import { withinTime } from '../../src/lib/concurrency.ts';
import type { ExecResult } from '../../src/lib/exec.ts';
import type { Host } from '../host.ts';
import { describeWaiting, type Watch } from './stuck-commands.ts';

/** What to run, to learn how a volume is. */
export type Reading = {
  readonly volumeId: string;
  readonly operation: string;
  readonly command: string;
  readonly args: readonly string[];
};

/** How reading a volume can fail. */
export type ReadingFault = 'Hung' | 'ReadFailed';

/** The command's result; or why there is none yet. */
export type Answer = { readonly result: ExecResult } | { readonly hangs: string };

/** Reads volumes through commands, and answers within a second whether they end or not. */
export type Readings = (reading: Reading) => Promise<Answer>;

/** How long an answer may take. */
const answerMs = 900;
/** How long a command may run; its result is of no use to anybody by then. */
const commandMs = 5_000;

type Reader = {
  readonly host: Host;
  readonly watch: Watch;
  /** Holds how the last reading of a volume failed, and nothing where it did not. */
  readonly cache: { readonly faults: Map<string, ReadingFault> };
};
type Run = { readonly key: string; readonly work: Promise<ExecResult> };

/**
 * Makes readings. At most one command runs for one volume: who asks for the same meanwhile waits for its end, and
 * for a volume with a command that could not be killed none is started.
 */
export function createReadings(agent: Reader): Readings {
  const read = createReader(agent);
  return async reading => {
    const answer = await read(reading);
    const fault = faultOf(answer);
    if (fault) agent.cache.faults.set(reading.volumeId, fault);
    else agent.cache.faults.delete(reading.volumeId);
    return answer;
  };
}

function faultOf(answer: Answer): ReadingFault | undefined {
  if ('hangs' in answer) return 'Hung';
  return answer.result.status === 0 ? undefined : 'ReadFailed';
}

function createReader({ host, watch }: Reader): Readings {
  const underWay = new Map<string, Run>();
  const start = (reading: Reading, key: string): Run => {
    const { volumeId, operation, command, args } = reading;
    const own = watch.hostFor(volumeId, operation, host);
    const work = own.run(command, args, { timeoutMs: commandMs }).finally(() => underWay.delete(volumeId));
    underWay.set(volumeId, { key, work });
    return { key, work };
  };
  return async reading => {
    const { volumeId, operation, command, args } = reading;
    const untilMs = performance.now() + answerMs;
    const key = [command, ...args].join(' ');
    const other = underWay.get(volumeId);
    if (other && other.key !== key) await withinTime(other.work, leftUntil(untilMs));
    const stuck = watch.stuck(volumeId);
    if (stuck) return { hangs: describeWaiting(stuck) };
    const current = underWay.get(volumeId) ?? start(reading, key);
    if (current.key !== key) return { hangs: `"${current.key}" does not end` };
    const ended = await withinTime(current.work, leftUntil(untilMs));
    if (!ended) return { hangs: `${operation} waits on "${key}"` };
    const result = ended.value;
    return result.timedOut ? { hangs: `"${key}" did not end` } : { result };
  };
}

function leftUntil(untilMs: number): number {
  return Math.max(0, untilMs - performance.now());
}
