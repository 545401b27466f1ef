import { withinTime } from '../../src/lib/concurrency.ts';
import { failureText, type ExecResult } from '../../src/lib/exec.ts';
import type { Host } from '../host.ts';
import { describeCommand, type Watch } from './stuck-commands.ts';

export type Reading = {
  readonly volumeId: string;
  readonly operation: string;
  readonly command: string;
  readonly args: readonly string[];
  /** Maximum time until the answer, in milliseconds. If absent, the answer waits for the command, at most some seconds. */
  readonly answerMs?: number;
};

/** Wait for an answer, in milliseconds, if the caller must answer within a second and has a substitute. */
export const soonMs = 900;

export type ReadingFault = 'Hung' | 'ReadFailed';

type Answer = { readonly stdout: string } | { readonly fault: ReadingFault; readonly message: string };

/** Reads volumes through commands, and answers in time even if a command hangs. */
export type Readings = (reading: Reading) => Promise<Answer>;

/** Maximum run time of a command, in milliseconds; a later result would not be used. */
const commandMs = 5_000;

type ReadingContext = {
  readonly host: Host;
  readonly watch: Watch;
  /** Holds the fault of each volume's last reading, if it failed. */
  readonly cache: { readonly faults: Map<string, ReadingFault> };
};

/**
 * Creates a `Readings` that remembers the fault of each volume's last reading. At most one command runs per volume: equal
 * readings share its result, other readings wait for its end, and a volume with a stuck command gets no new one.
 */
export function createReadings({ host, watch, cache }: ReadingContext): Readings {
  const active = new Map<string, { readonly line: string; readonly work: Promise<ExecResult> }>();
  const start = ({ volumeId, operation, command, args }: Reading, line: string) => {
    const own = watch.hostFor(volumeId, operation, host);
    const work = own.run(command, args, { timeoutMs: commandMs }).finally(() => active.delete(volumeId));
    active.set(volumeId, { line, work });
    return { line, work };
  };
  const read = async (reading: Reading): Promise<Answer> => {
    const { volumeId, operation, command, args, answerMs = Infinity } = reading;
    const untilMs = performance.now() + answerMs;
    const leftMs = () => Math.max(0, untilMs - performance.now());
    const hung = (why: string): Answer => ({ fault: 'Hung', message: `volume "${volumeId}" hangs: ${why}` });
    const line = [command, ...args].join(' ');
    let current = active.get(volumeId);
    while (current && current.line !== line) {
      if (!(await withinTime(current.work, leftMs()))) return hung(`"${current.line}" does not end`);
      current = active.get(volumeId);
    }
    const stuck = watch.stuck(volumeId);
    if (stuck) return hung(describeCommand(stuck));
    current ??= start(reading, line);
    const ended = await withinTime(current.work, leftMs());
    if (!ended) return hung(`${operation} waits on "${line}"`);
    const { status, stdout, stderr, timedOut } = ended.value;
    if (timedOut) return hung(`"${line}" did not end`);
    if (status === 0) return { stdout };
    return { fault: 'ReadFailed', message: `volume "${volumeId}" cannot be read: ${failureText(stderr)}` };
  };
  return async reading => {
    const answer = await read(reading);
    if ('fault' in answer) cache.faults.set(reading.volumeId, answer.fault);
    else cache.faults.delete(reading.volumeId);
    return answer;
  };
}
