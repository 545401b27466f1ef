import { execFileSync, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, constants, tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { fileURLToPath } from 'node:url';
import { inspect, parseArgs } from 'node:util';
import { changedLately, orderParts, runParts, today } from './parts.ts';
import { findTests, fullParts, prepare, slots, usualTests } from './tiers.ts';

const usage = `Usage: npm test [-- [--only NAME] TIER|FOLDER|FILE …]
       npm run test:full [-- [--only NAME] [--part NAME … | --minutes N | TIER|FOLDER|FILE …]]
       npm run test:full -- --list

npm test runs the tiers unit, machine and conformance, or the tiers, folders and files that you name. A seed, which is
printed, chooses a sample of the long tests, such as kill loops, models, vendors and releases; TEST_SEED=… repeats the
choice.
npm run test:full runs the other tests: sampled tests at full length, virtual machines, storage systems, the database
cluster, and installations. Files that you name run at full length. Two tests are too long for that, and the seed chooses a
share: ten of fifty runs of the vendors' kit (KIT_SEEDS=50 runs all), and a third of Ceph's kill loops
(CEPH_CRASHES=all runs all).
The full tier is divided into parts, which run two at a time; the output of a part appears when it ends. --list shows the
parts. --part runs one part; repeat it for more. --minutes runs as many parts as will probably end in that time: first those
that prove files of the last day's commits, then other parts, beginning with another one each day. The parts that were left
out are printed. It builds no kernel module: tests of ZFS are skipped unless another run has built it.

  unit         only this process: no root, no tool except openssl; for the chart Helm and promtool, which are fetched
  machine      devices, mounts and processes of this machine: needs root, and Debian's tools, which are installed
  conformance  csi-sanity and the stock sidecars: needs root and Go; schemathesis needs Python with venv, and PyPI
  vm           Debian kernels under QEMU, which are fetched and not installed
  storage      Ceph and OpenStack's Cinder, which are fetched and not installed: needs root
  database     PostgreSQL under Patroni, which is fetched and not installed: needs root
  install      the files of a release, and the first steps of README and the guides: needs root, and the packages'
               registries
  kubernetes   Kubernetes clusters that run Fairlead: needs root, and the programs that npm run test:kubernetes builds

npm run test:kubernetes -- --upstream runs only Kubernetes' own suite for external storage, on a pool of the backend image
and on one of the backend dir; add --only image for one of them. UPSTREAM_FOCUS=REGEX limits it to the specs whose names
match.

npm run test:kubernetes -- --versions runs scenarios on the oldest and the newest version of Kubernetes that the chart is
for; it builds both first, which takes 40 minutes. The usual run does this where they are built.

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
    upstream: { type: 'boolean', default: false },
    versions: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
  allowPositionals: true,
});
process.chdir(fileURLToPath(new URL('..', import.meta.url)));
process.env['TEST_SEED'] ??= String(randomInt(2 ** 31));
if (values.full) process.env['TEST_FULL'] = '1';
// Without these the process ends without its event `exit`. Running test files go on to their end, and clean up.
for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => process.exit(128 + constants.signals[signal]));
try {
  if (values.help) process.stdout.write(usage);
  else if (values.list) listParts();
  else if (values.full && values.part.length === 0 && positionals.length === 0) await runFullTier();
  else runTests(chooseFiles());
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exitCode = 2;
}

function chooseFiles(): readonly string[] {
  if (values.upstream) return findTests(['test/kubernetes/upstream/whole.ts']);
  if (values.versions) return findVersionTest();
  if (positionals.length > 0) return findTests(positionals.map(fromCaller));
  if (values.part.length === 0) return usualTests();
  const all = fullParts();
  return values.part.flatMap(name => {
    const part = all[name];
    if (part) return part.files;
    throw new Error(`there is no part "${name}"; choose one that npm run test:full -- --list shows`);
  });
}

/** Builds other versions of Kubernetes, which the usual run does not build, and finds their test. */
function findVersionTest(): readonly string[] {
  execFileSync(process.execPath, ['test/kubernetes/build/main.ts', '--versions'], { stdio: 'inherit' });
  return findTests(['test/kubernetes/versions.test.ts']);
}

function listParts(): void {
  for (const [name, { files, seconds }] of Object.entries(fullParts()))
    process.stdout.write(`${name.padEnd(14)} ${String(seconds).padStart(4)} s  ${files.join(' ')}\n`);
}

/** Runs the parts of the full tier, each in a process of its own, until the time of --minutes is used. */
async function runFullTier(): Promise<void> {
  const { minutes = 'Infinity' } = values;
  if (!(Number(minutes) > 0)) throw new Error(`--minutes: "${minutes}" is no number of minutes above 0`);
  if (values.minutes !== undefined) process.env['TEST_MINUTES'] = minutes;
  const all = fullParts();
  const notes: string[] = [];
  const totals = { passed: 0, failed: 0, skipped: 0 };
  const runTimed = async (name: string): Promise<number> => {
    prepare(all[name]?.files ?? []);
    const began = now();
    process.stdout.write(`part ${name}: started\n`);
    const { output, counts } = await runPart(name);
    process.stdout.write(output);
    const taken = now() - began;
    process.stdout.write(`part ${name}: ${taken.toFixed(0)} s, usually ${all[name]?.seconds} s\n`);
    notes.push(...output.split('\n').filter(line => /^(?:failed|skipped): /.test(line)));
    for (const key of ['passed', 'failed', 'skipped'] as const) totals[key] += counts[key];
    return taken;
  };
  const left = await runParts({
    inOrder: orderParts(all, { changed: changedLately(), day: today() }).map(name => [
      name,
      all[name]?.seconds ?? 0,
    ]),
    limit: 60 * Number(minutes),
    slots: Math.max(2, availableParallelism()),
    run: runTimed,
    now,
  });
  for (const line of new Set(notes)) process.stdout.write(`${line}\n`);
  process.stdout.write(`left out for lack of time: ${left.join(', ') || 'none'}\n`);
  if (totals.failed > 0 || totals.passed === 0) process.exitCode = 1;
  process.stdout.write(`TEST_SEED=${process.env['TEST_SEED']}\n${lastLine(addUp(totals))}\n`);
}

/** Returns a time in seconds. */
function now(): number {
  return performance.now() / 1_000;
}

/** Runs a part; one that ends without counts, as after a crash, counts as a failure. */
async function runPart(name: string): Promise<{ readonly output: string; readonly counts: Totals }> {
  const totals = join(makeDirectory('fairlead-part-'), 'totals');
  const only = values.only === undefined ? [] : ['--only', values.only];
  const child = spawn(process.execPath, [import.meta.filename, '--full', '--part', name, ...only], {
    env: { ...process.env, TEST_TOTALS: totals },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const chunks: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  await once(child, 'close');
  const output = Buffer.concat(chunks).toString('utf8');
  if (existsSync(totals)) return { output, counts: readTotals(totals) };
  const failed = `failed: part ${name} ended early, with ${child.signalCode ?? `status ${child.exitCode}`}\n`;
  return { output: `${output}${failed}`, counts: { passed: 0, failed: 1, skipped: 0 } };
}

/** Makes a directory that is removed at the end of this process. */
function makeDirectory(prefix: string): string {
  const directory = mkdtempSync(join(tmpdir(), prefix));
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }));
  return directory;
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
  const isUsual = !values.full && positionals.length === 0;
  const seed = process.env['TEST_SEED'];
  // Loading TypeScript takes most of a short test's time.
  process.env['NODE_COMPILE_CACHE'] ??= fileURLToPath(
    new URL('../node_modules/.cache/fairlead-test', import.meta.url),
  );
  // `fairlead dev` writes a context that works into this directory; the user's own must stay as they are.
  process.env['XDG_CONFIG_HOME'] = makeDirectory('fairlead-config-');
  process.stdout.write(`TEST_SEED=${seed}\n`);
  const totals = { passed: 0, failed: 0, skipped: 0 };
  const notes: string[] = [];
  const seconds = new Map<string, number>();
  const stream = run({
    files: [...files],
    concurrency: slots(files),
    // Only for files that hang: on a busy machine the slowest usual file takes a quarter of this.
    timeout: (values.upstream ? 180 : isUsual ? 15 : 60) * 60_000,
    // node:ffi causes this warning, and each file would print it.
    execArgv: [
      '--disable-warning=ExperimentalWarning',
      '--import',
      new URL('untracked-promises.ts', import.meta.url).href,
    ],
    ...(values.only !== undefined && { testNamePatterns: [values.only] }),
  });
  stream.on('test:pass', ({ name, file, skip, details }) => {
    const isSkipped = skip !== undefined && skip !== false;
    // The runner reports a file without a matching test as a test that passed.
    if (resolve(name) === file || (details.type === 'suite' && !isSkipped)) return;
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
    if (values.only !== undefined && totals.passed + totals.failed + totals.skipped === 0)
      notes.push(
        `no test has a name that matches "${values.only}"; tests in a virtual machine run together, under the name of their machine`,
      );
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
  const before = readTotals(path);
  const sum = {
    passed: before.passed + totals.passed,
    failed: before.failed + totals.failed,
    skipped: before.skipped + totals.skipped,
  };
  writeFileSync(path, JSON.stringify(sum));
  return sum;
}

function readTotals(path: string): Totals {
  const text = existsSync(path) ? readFileSync(path, 'utf8') : '';
  return text === '' ? { passed: 0, failed: 0, skipped: 0 } : (JSON.parse(text) as Totals);
}

function lastLine({ passed, failed, skipped }: Totals): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;
}
