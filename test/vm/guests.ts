import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { seed } from '../harness/sample.ts';
import type { Outcome, Report } from './guest.ts';
import { startMachine, type MachinePlan } from './machine.ts';
import { whyNoMachine } from './packages.ts';

/** The number of slowest tests that are reported. */
const maxReported = 5;
const guest = fileURLToPath(new URL('guest.ts', import.meta.url));

/**
 * Runs test files in a virtual machine of their own, as root, on a Debian kernel with NFS, iSCSI, NVMe over TCP,
 * multipath and every capability. It sees the packages of `test/vm/packages.sh` and this machine's files, which it
 * cannot change. Each test in the files is a test here, with its own name and failure. A machine that panics, or is
 * silent for too long, is a failure that shows its console; a slow machine is none. The machine leaves nothing behind.
 *
 * To add a test: write `test/vm/guest/NAME.guest.ts` as any other test file, add its packages to `packages.sh`, and
 * name it in a `test/vm/*.test.ts`, which is one machine, because a boot takes longer than most tests. No udev runs in
 * the machine, so /dev has only the kernel's own nodes. /run and TMPDIR are in memory; modules load by themselves or
 * with modprobe. A warm `node` takes half a second. The run's seed makes the same choices as outside.
 */
export function testInMachine(
  name: string,
  files: readonly string[],
  { why, ...options }: MachineOptions & { readonly why?: string | undefined } = {},
): void {
  const skip = why ?? whyNoMachine(options.kernel);
  test(name, skip === undefined ? {} : { skip }, t => runInMachine(t, files, options));
}

/** The members of `MachinePlan` besides the command, and variables for the test files. */
type MachineOptions = Partial<Omit<MachinePlan, 'command'>> & {
  readonly env?: Readonly<Record<string, string>>;
};

/** Runs test files as `testInMachine` does, within a test, for a machine that runs beside other programs. */
export async function runInMachine(
  t: TestContext,
  files: readonly string[],
  { env = {}, ...options }: MachineOptions,
): Promise<void> {
  const variables = Object.entries({ TEST_SEED: String(seed), ...env }).map(
    ([key, value]) => `${key}=${value}`,
  );
  const command = ['env', ...variables, process.execPath, guest, ...files];
  const machine = startMachine({ silentMs: 15 * 60_000, ...options, command });
  t.after(() => machine.end());
  const taken: (readonly [name: string, ms: number])[] = [];
  let hasEnded = false;
  let hasFailed = false;
  for await (const line of machine.lines) {
    const report = JSON.parse(line) as Report;
    if (report === 'end') hasEnded = true;
    else if (report !== 'alive' && 'note' in report) t.diagnostic(report.note);
    else if (report !== 'alive' && !report.isSuite) {
      taken.push([report.name, report.durationMs]);
      hasFailed ||= report.failure !== undefined;
      await repeat(t, report);
    }
  }
  if (hasFailed) t.diagnostic(`the machine's console:\n${machine.console()}`);
  const slowest = taken.toSorted(([, a], [, b]) => b - a).slice(0, maxReported);
  for (const [title, ms] of slowest) t.diagnostic(`${Math.round(ms / 1_000)} s in the machine: ${title}`);
  assert.ok(
    hasEnded && taken.length > 0,
    `the virtual machine told of ${taken.length} tests and ended:\n${machine.console()}`,
  );
}

/** Declares a test with the outcome of the one in the machine. */
function repeat(t: TestContext, { name, skip, failure }: Outcome): Promise<void> {
  return t.test(name, skip === undefined ? {} : { skip }, () => {
    if (failure !== undefined) throw Object.assign(new Error(failure), { stack: failure });
  });
}
