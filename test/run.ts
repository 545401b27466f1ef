import { globSync } from 'node:fs';
import { cpus } from 'node:os';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { parseArgs } from 'node:util';

const usage = `Usage: npm test [-- FILE …] [-- --only NAME]

Runs every test below test/, or only the files named; --only runs the tests whose name matches.
The last line tells how many passed, failed and were skipped; the exit status is 0 only when none failed.
`;

const { values, positionals } = parseArgs({
  options: { only: { type: 'string' }, help: { type: 'boolean' } },
  allowPositionals: true,
});
if (values.help) process.stdout.write(usage);
else runTests();

function runTests(): void {
  const files = positionals.length > 0 ? positionals : globSync('test/**/*.test.ts').sort();
  const totals = { passed: 0, failed: 0, skipped: 0 };
  const skips: string[] = [];
  const stream = run({
    files,
    concurrency: Math.max(2, cpus().length),
    timeout: 15 * 60_000,
    // node:ffi is one, and each file would say so.
    execArgv: ['--disable-warning=ExperimentalWarning'],
    ...(values.only !== undefined && { testNamePatterns: [values.only] }),
  });
  stream.on('test:pass', ({ name, skip, details }) => {
    if (details.type === 'suite') return;
    if (skip === undefined || skip === false) totals.passed++;
    else {
      totals.skipped++;
      skips.push(`skipped: ${name}${typeof skip === 'string' ? `: ${skip}` : ''}`);
    }
  });
  stream.on('test:fail', ({ details }) => {
    process.exitCode = 1;
    if (details.type !== 'suite') totals.failed++;
  });
  stream.compose(new spec()).pipe(process.stdout);
  process.once('beforeExit', () => {
    if (totals.passed + totals.failed === 0) process.exitCode = 1;
    for (const line of skips) process.stdout.write(`${line}\n`);
    const skipped = totals.skipped > 0 ? `, ${totals.skipped} skipped` : '';
    process.stdout.write(`${totals.passed} passed, ${totals.failed} failed${skipped}\n`);
  });
}
