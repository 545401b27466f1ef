import { once } from 'node:events';
import { globSync, openSync, writeSync } from 'node:fs';
import { run } from 'node:test';
import { inspect } from 'node:util';
import { withinTime } from '../../src/lib/concurrency.ts';
import { findPort } from './fleet/port.ts';

/** How one test in the virtual machine ended. */
export type Outcome = {
  readonly name: string;
  readonly isSuite: boolean;
  readonly durationMs: number;
  /** Why it was skipped. */
  readonly skip?: string;
  /** What went wrong, as text with its stack. */
  readonly failure?: string;
};

/** A figure that a test tells of. */
export type Note = { readonly note: string };

/** One line of JSON: how a test ended, what it tells of, that the machine lives, or that all was run. */
export type Report = Outcome | Note | 'alive' | 'end';

const aliveMs = 5_000;
/** A test that takes longer hangs, on however busy a machine. */
const testMs = 25 * 60_000;

/** How V8 itself now and then ends on an emulated processor, whose threads see new machine code late. */
const crashes = new Set<unknown>(['SIGTRAP', 'SIGSEGV', 'SIGILL']);

/** Runs a file again that crashed so. Whatever else ends a file is its failure. */
async function runFile(file: string, tries: number): Promise<void> {
  let hasCrashed = false;
  const stream = run({ files: [file], concurrency: 1, timeout: testMs });
  stream.on('test:pass', ({ name, skip, details: { type, duration_ms: durationMs } }) => {
    const reason = skip === true ? 'no reason given' : skip;
    say({ name, isSuite: type === 'suite', durationMs, ...(typeof reason === 'string' && { skip: reason }) });
  });
  stream.on('test:fail', ({ name, details: { type, error, duration_ms: durationMs } }) => {
    hasCrashed = crashes.has((error as { signal?: unknown }).signal);
    if (hasCrashed && tries > 1) return;
    // A file that ends before its tests has words alone for its cause, and its exit status beside them.
    const fault = error.cause instanceof Error ? error.cause : error;
    say({ name, isSuite: type === 'suite', durationMs, failure: inspect(fault) });
  });
  stream.on('test:diagnostic', ({ message, nesting }) => {
    // Those of a whole file are its counts.
    if (!/^(tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) [\d.]+$/.test(message) || nesting > 0)
      say({ note: message });
  });
  stream.on('test:stdout', ({ message }) => process.stdout.write(message));
  stream.on('test:stderr', ({ message }) => process.stdout.write(message));
  stream.resume();
  // One that waits in the kernel cannot be killed when its time is over.
  const hasEnded = await withinTime(once(stream, 'end'), testMs + 60_000);
  if (!hasEnded)
    say({ name: file, isSuite: false, durationMs: testMs, failure: 'it hangs, and cannot be killed' });
  if (hasCrashed && tries > 1) await runFile(file, tries - 1);
}

function say(report: Report): void {
  writeSync(port, `${JSON.stringify(report)}\n`);
}

// Runs in the virtual machine: runs the test files that its arguments match, one after another, and says of each test
// how it ended. What the tests print goes to the console.
const files = process.argv.slice(2).flatMap(pattern => globSync(pattern).sort());
const port = openSync(findPort('outcomes'), 'w');
const heartbeat = setInterval(say, aliveMs, 'alive');
for (const file of files) await runFile(file, 3);
clearInterval(heartbeat);
say('end');
// Not even a test file that hangs keeps the machine.
process.exit();
