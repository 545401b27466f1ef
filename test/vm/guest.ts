import { once } from 'node:events';
import { globSync, openSync, writeSync } from 'node:fs';
import { run } from 'node:test';
import { inspect } from 'node:util';
import { withinTime } from '../../src/lib/concurrency.ts';
import { findPort } from './fleet/port.ts';

/** The outcome of a test in the virtual machine. */
export type Outcome = {
  readonly name: string;
  readonly isSuite: boolean;
  readonly durationMs: number;
  /** The reason why it was skipped. */
  readonly skip?: string;
  /** The error as text with its stack. */
  readonly failure?: string;
};

/** A figure that a test reports. */
export type Note = { readonly note: string };

/** One line of JSON: a test's outcome, a figure, a sign of life, or the end of the run. */
export type Report = Outcome | Note | 'alive' | 'end';

const aliveMs = 5_000;
/** A file hangs if none of its tests has ended for this time, however busy the machine is. */
const idleMs = 25 * 60_000;

/**
 * The signals of V8's own crashes, which happen now and then on an emulated processor whose threads see new machine
 * code late.
 */
const crashes = new Set<unknown>(['SIGTRAP', 'SIGSEGV', 'SIGILL']);

/** Runs a file, and runs it again after such a crash. Any other abnormal end is the file's failure. */
async function runFile(file: string, tries: number): Promise<void> {
  let hasCrashed = false;
  const hanging = new AbortController();
  const stream = run({ files: [file], concurrency: 1, signal: hanging.signal });
  let lastMs = performance.now();
  for (const event of ['test:pass', 'test:fail'] as const)
    stream.on(event, () => void (lastMs = performance.now()));
  stream.on('test:pass', ({ name, skip, details: { type, duration_ms: durationMs } }) => {
    const reason = skip === true ? 'no reason given' : skip;
    say({ name, isSuite: type === 'suite', durationMs, ...(typeof reason === 'string' && { skip: reason }) });
  });
  stream.on('test:fail', ({ name, details: { type, error, duration_ms: durationMs } }) => {
    hasCrashed = crashes.has((error as { signal?: unknown }).signal);
    if (hasCrashed && tries > 1) return;
    // The cause is an Error, or a text if the file ended before its tests; the exit status is beside it.
    const fault = error.cause instanceof Error ? error.cause : error;
    say({ name, isSuite: type === 'suite', durationMs, failure: inspect(fault) });
  });
  stream.on('test:diagnostic', ({ message, nesting }) => {
    // Drops the counts of a whole file.
    if (!/^(tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) [\d.]+$/.test(message) || nesting > 0)
      say({ note: message });
  });
  stream.on('test:stdout', ({ message }) => process.stdout.write(message));
  stream.on('test:stderr', ({ message }) => process.stdout.write(message));
  stream.resume();
  const end = once(stream, 'end');
  let leftMs = idleMs;
  while (leftMs > 0 && !(await withinTime(end, leftMs))) leftMs = lastMs + idleMs - performance.now();
  if (leftMs <= 0) {
    // A test that waits in the kernel cannot be killed, so its end is not awaited.
    hanging.abort();
    say({ name: file, isSuite: false, durationMs: idleMs, failure: 'no test of it ended for 25 minutes' });
  }
  if (hasCrashed && tries > 1) await runFile(file, tries - 1);
}

function say(report: Report): void {
  writeSync(port, `${JSON.stringify(report)}\n`);
}

// Runs in the virtual machine: runs the test files that its arguments match, one after another, and reports each test's
// outcome. The tests' own output goes to the console.
const files = process.argv.slice(2).flatMap(pattern => globSync(pattern).sort());
const port = openSync(findPort('outcomes'), 'w');
const heartbeat = setInterval(say, aliveMs, 'alive');
for (const file of files) await runFile(file, 3);
clearInterval(heartbeat);
say('end');
// Exits even if a test file hangs.
process.exit();
