import { randomInt } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { fileURLToPath } from 'node:url';
import { inspect, parseArgs } from 'node:util';
import { changedLately, chooseParts, type Part, today } from './parts.ts';
import { findTests, fullParts, fullTests, prepare, slots, usualTests } from './tiers.ts';

const usage = `Usage: npm test [-- [--only NAME] TIER|FOLDER|FILE …]
       npm run test:full [-- [--only NAME] [--part NAME …] [--minutes N] TIER|FOLDER|FILE …]
       npm run test:full -- --list [--minutes N]

npm test runs the tiers unit, machine and conformance, or the tiers, folders and files that you name. A seed, which is
printed, chooses a sample of the kill loops and model runs; TEST_SEED=… repeats the choice.
npm run test:full runs the other tests: sampled tests at full length, virtual machines, storage systems, the database
cluster, and installations. Files that you name run at full length. Two tests are too long for that, and the seed chooses a
share: ten of fifty runs of the vendors' kit (KIT_SEEDS=50 runs all), and a third of Ceph's kill loops
(CEPH_CRASHES=all runs all).
--list shows the parts of the full tier, and with --minutes those that would run. --part runs one part; repeat it for
more. --minutes runs as many parts as fit into the time: first those that prove files of the last day's commits, then
other parts, beginning with another one each day. The parts that do not fit are printed.

  unit         only this process: no root, no tool except openssl; for the chart Helm and promtool, which are fetched
  machine      devices, mounts and processes of this machine: needs root, and Debian's tools, which are installed
  conformance  csi-sanity and the stock sidecars: needs root and Go; schemathesis needs Python with venv, and PyPI
  vm           Debian kernels under QEMU, which are fetched and not installed
  storage      Ceph, which is fetched and not installed: needs root
  database     PostgreSQL under Patroni, which is fetched and not installed: needs root
  install      the first steps of README and the guides on a minimal Debian: needs root, and the packages' registries
  kubernetes   Kubernetes clusters that run Fairlead: needs root, and the programs that npm run test:kubernetes builds

--only runs the tests whose name matches. With TEST_TOTALS=FILE the counts of several runs add up in a file.
At the end the ten slowest files are listed. The last line counts the tests that passed, failed and were skipped;
the exit status is 0 only when none failed.
`;

const { values, positionals } = parseArgs({
  options: {
    only: { type: 'string' },
    full: { type: 'boolean', default: false },
    part: { type: 'string', multiple: true, default: [] },
    minutes: { type: 'string' },
    list: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
  allowPositionals: true,
});
process.chdir(fileURLToPath(new URL('..', import.meta.url)));
if (values.help) process.stdout.write(usage);
else
  try {
    if (values.list) listParts();
    else runTests(chooseFiles());
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`);
    process.exitCode = 2;
  }

function chooseFiles(): readonly string[] {
  if (positionals.length > 0) return findTests(positionals.map(fromCaller));
  const chosen = chosenParts();
  if (chosen !== undefined) return chosen.flatMap(([, { files }]) => files);
  return values.full ? fullTests() : usualTests();
}

/** Finds the parts that --part names, or that fit into --minutes; --minutes also prints the choice. */
function chosenParts(): readonly (readonly [string, Part])[] | undefined {
  const all = fullParts();
  const find = (name: string): readonly [string, Part] => {
    const part = all[name];
    if (!part)
      throw new Error(`there is no part "${name}"; choose one that npm run test:full -- --list shows`);
    return [name, part];
  };
  if (values.part.length > 0) return values.part.map(find);
  if (values.minutes === undefined) return undefined;
  const minutes = Number(values.minutes);
  if (!(minutes > 0)) throw new Error(`--minutes: "${values.minutes}" is no number of minutes above 0`);
  const chosen = chooseParts(all, { changed: changedLately(), day: today(), seconds: minutes * 60 });
  process.stdout.write(`parts of the full tier: ${chosen.run.join(', ') || 'none'}\n`);
  process.stdout.write(`left out for lack of time: ${chosen.left.join(', ') || 'none'}\n`);
  return chosen.run.map(find);
}

function listParts(): void {
  for (const [name, { files, seconds }] of chosenParts() ?? Object.entries(fullParts()))
    process.stdout.write(`${name.padEnd(14)} ${String(seconds).padStart(4)} s  ${files.join(' ')}\n`);
}

/**
 * Resolves a name against the directory where npm was called; npm itself runs its scripts in the project's
 * directory.
 */
function fromCaller(name: string): string {
  const directory = process.env['INIT_CWD'] ?? '.';
  return existsSync(`${directory}/${name}`) ? relative('.', `${directory}/${name}`) : name;
}

function runTests(files: readonly string[]): void {
  prepare(files);
  const seed = (process.env['TEST_SEED'] ??= String(randomInt(2 ** 31)));
  if (values.full) process.env['TEST_FULL'] = '1';
  // Loading TypeScript takes most of a short test's time.
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
    // Only for tests that hang: a machine that is busy with other work may be ten times slower than usual.
    timeout: 60 * 60_000,
    // node:ffi causes this warning, and each file would print it.
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
    // The reporter prints the reason at the very end, which a run that is cut off never reaches.
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

/** Lists the files that took longest. */
function slowest(seconds: ReadonlyMap<string, number>): readonly string[] {
  const longestFirst = [...seconds].toSorted(([, a], [, b]) => b - a).slice(0, 10);
  return ['slowest:', ...longestFirst.map(([file, taken]) => `${taken.toFixed(1).padStart(7)} s  ${file}`)];
}

type Totals = { readonly passed: number; readonly failed: number; readonly skipped: number };

/** Adds these totals to the totals of earlier runs, if TEST_TOTALS names a file. */
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
