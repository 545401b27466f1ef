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
  /** How long the answer may take, in milliseconds; without it, until the command has ended, which takes seconds at most. */
  readonly answerMs?: number;
};

/** How long who has something to tell meanwhile waits for an answer, in milliseconds: it is told within a second. */
export const soonMs = 900;

/** How reading a volume can fail. */
export type ReadingFault = 'Hung' | 'ReadFailed';

/** What the command printed; or why there is nothing, in words. */
type Answer = { readonly stdout: string } | { readonly fault: ReadingFault; readonly message: string };

/** Reads volumes through commands, and answers in time whether they end or not. */
export type Readings = (reading: Reading) => Promise<Answer>;

/** How long a command may run; its result is of no use to anybody by then. */
const commandMs = 5_000;

type Reader = {
  readonly host: Host;
  readonly watch: Watch;
  /** Holds how the last reading of a volume failed, and nothing where it did not. */
  readonly cache: { readonly faults: Map<string, ReadingFault> };
};

/**
 * Makes readings, and notes for each volume how the last one failed. At most one command runs for one volume: who asks
 * for the same meanwhile waits for its end, and for a volume with a command that could not be killed none is started.
 */
export function createReadings({ host, watch, cache }: Reader): Readings {
  const underWay = new Map<string, { readonly line: string; readonly work: Promise<ExecResult> }>();
  const start = ({ volumeId, operation, command, args }: Reading, line: string) => {
    const own = watch.hostFor(volumeId, operation, host);
    const work = own.run(command, args, { timeoutMs: commandMs }).finally(() => underWay.delete(volumeId));
    underWay.set(volumeId, { line, work });
    return { line, work };
  };
  const read = async (reading: Reading): Promise<Answer> => {
    const { volumeId, operation, command, args, answerMs = Infinity } = reading;
    const untilMs = performance.now() + answerMs;
    const leftMs = () => Math.max(0, untilMs - performance.now());
    const hung = (why: string): Answer => ({ fault: 'Hung', message: `volume "${volumeId}" hangs: ${why}` });
    const line = [command, ...args].join(' ');
    let current = underWay.get(volumeId);
    while (current && current.line !== line) {
      if (!(await withinTime(current.work, leftMs()))) return hung(`"${current.line}" does not end`);
      current = underWay.get(volumeId);
    }
    const stuck = watch.stuck(volumeId);
    if (stuck) return hung(describeWaiting(stuck));
    current ??= start(reading, line);
    const ended = await withinTime(current.work, leftMs());
    if (!ended) return hung(`${operation} waits on "${line}"`);
    const { status, stdout, stderr, timedOut } = ended.value;
    if (timedOut) return hung(`"${line}" did not end`);
    if (status === 0) return { stdout };
    return { fault: 'ReadFailed', message: `volume "${volumeId}" cannot be read: ${stderr.trim()}` };
  };
  return async reading => {
    const answer = await read(reading);
    if ('fault' in answer) cache.faults.set(reading.volumeId, answer.fault);
    else cache.faults.delete(reading.volumeId);
    return answer;
  };
}
