import { randomInt } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { fileURLToPath } from 'node:url';
import { inspect, parseArgs } from 'node:util';
import { findTests, fullTests, prepare, slots, usualTests } from './tiers.ts';

const usage = `Usage: npm test [-- [--only NAME] TIER|FOLDER|FILE …]
       npm run test:full [-- [--only NAME] TIER|FOLDER|FILE …]

npm test runs the tiers unit, machine and conformance, or what is named: a tier, a folder, a file. Kill loops and model
runs are sampled by a seed, which is printed; TEST_SEED=… chooses the same again.
npm run test:full runs the rest: what is sampled, at its full length, the virtual machines, the storage systems, and the
database cluster. What is named runs at full length. What is too long for that runs in part, chosen by the seed:
ten of fifty runs of the vendors' kit (all with KIT_SEEDS=50), a third of Ceph's kill loops (all with CEPH_CRASHES=all).

  unit         in this process alone: no root, no tool but openssl, and for the chart Helm and promtool, which are fetched
  machine      devices, mounts and processes of this machine: root, and Debian's tools, which are installed
  conformance  csi-sanity and the stock sidecars: root, and Go; schemathesis: Python with venv, and PyPI
  vm           Debian kernels under QEMU, which are fetched and not installed
  storage      Ceph, which is fetched and not installed: root
  database     PostgreSQL under Patroni, which is fetched and not installed: root
  kubernetes   clusters of Kubernetes with Fairlead in them: root, and what npm run test:kubernetes builds first

--only runs the tests whose name matches. With TEST_TOTALS=FILE the counts of several runs add up in a file.
At the end the ten files are named that took longest. The last line tells how many tests passed, failed and were
skipped; the exit status is 0 only when none failed.
`;

const { values, positionals } = parseArgs({
  options: {
    only: { type: 'string' },
    full: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
  allowPositionals: true,
});
process.chdir(fileURLToPath(new URL('..', import.meta.url)));
if (values.help) process.stdout.write(usage);
else
  try {
    runTests(chooseFiles());
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`);
    process.exitCode = 2;
  }

function chooseFiles(): readonly string[] {
  if (positionals.length > 0) return findTests(positionals.map(fromCaller));
  return values.full ? fullTests() : usualTests();
}

/** npm runs its scripts in the project's directory and tells where it was called. */
function fromCaller(name: string): string {
  const directory = process.env['INIT_CWD'] ?? '.';
  return existsSync(`${directory}/${name}`) ? relative('.', `${directory}/${name}`) : name;
}

function runTests(files: readonly string[]): void {
  prepare(files);
  const seed = (process.env['TEST_SEED'] ??= String(randomInt(2 ** 31)));
  if (values.full) process.env['TEST_FULL'] = '1';
  // Most of a short test's time is the loading of TypeScript.
  process.env['NODE_COMPILE_CACHE'] ??= fileURLToPath(
    new URL('../node_modules/.cache/fairlead-test', import.meta.url),
  );
  process.stdout.write(`TEST_SEED=${seed}\n`);
  const totals = { passed: 0, failed: 0, skipped: 0 };
  const notes: string[] = [];
  const seconds = new Map<string, number>();
  const stream = run({
    files: [...files],
    concurrency: slots(),
    // For what hangs: a machine that is busy with other things may be ten times as slow as it can be.
    timeout: 60 * 60_000,
    // node:ffi is one, and each file would say so.
    execArgv: ['--disable-warning=ExperimentalWarning'],
    ...(values.only !== undefined && { testNamePatterns: [values.only] }),
  });
  stream.on('test:pass', ({ name, skip, details }) => {
    const isSkipped = skip !== undefined && skip !== false;
    if (details.type === 'suite' && !isSkipped) return;
    if (!isSkipped) totals.passed++;
    else {
      totals.skipped++;
      notes.push(`skipped: ${name}${typeof skip === 'string' ? `: ${skip}` : ''}`);
    }
  });
  stream.on('test:fail', ({ name, file, details }) => {
    process.exitCode = 1;
    if (details.type === 'suite') return;
    totals.failed++;
    const failed = `failed: ${name} (${relative('.', file ?? '')})`;
    notes.push(failed);
    // The reporter tells why at the very end only, which a run that is cut off never reaches.
    process.stdout.write(`${failed}: ${inspect(details.error.cause ?? details.error)}\n`);
  });
  stream.on('test:summary', ({ file, duration_ms: ms }) => {
    if (file !== undefined) seconds.set(relative('.', file), ms / 1_000);
  });
  stream.compose(new spec()).pipe(process.stdout);
  process.once('beforeExit', () => {
    if (totals.passed + totals.failed === 0) process.exitCode = 1;
    for (const line of [...notes, ...slowest(seconds)]) process.stdout.write(`${line}\n`);
    process.stdout.write(`TEST_SEED=${seed}\n${lastLine(addUp(totals))}\n`);
  });
}

/** Lines that tell which files took longest. */
function slowest(seconds: ReadonlyMap<string, number>): readonly string[] {
  const longestFirst = [...seconds].toSorted(([, a], [, b]) => b - a).slice(0, 10);
  return ['slowest:', ...longestFirst.map(([file, taken]) => `${taken.toFixed(1).padStart(7)} s  ${file}`)];
}

type Totals = { readonly passed: number; readonly failed: number; readonly skipped: number };

/** These and those of the runs before, where a file is named for them. */
function addUp(totals: Totals): Totals {
  const path = process.env['TEST_TOTALS'];
  if (path === undefined) return totals;
  const text = existsSync(path) ? readFileSync(path, 'utf8') : '';
  const before = text === '' ? { passed: 0, failed: 0, skipped: 0 } : (JSON.parse(text) as Totals);
  const sum = {
    passed: before.passed + totals.passed,
    failed: before.failed + totals.failed,
    skipped: before.skipped + totals.skipped,
  };
  writeFileSync(path, JSON.stringify(sum));
  return sum;
}

function lastLine({ passed, failed, skipped }: Totals): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;
}
