import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryDirectory } from '../harness/temporary.ts';
import { orderParts, runParts, type Part } from '../parts.ts';
import { findTests, fullParts, fullTests, scriptsFor } from '../tiers.ts';

test('a unit test fetches nothing, unless it renders the chart or tries its alerts', () => {
  assert.deepEqual(scriptsFor(['test/unit/structure.test.ts']), []);
  assert.deepEqual(scriptsFor(['test/unit/deploy/chart.test.ts']), ['deploy/fetch-helm.sh']);
  assert.deepEqual(scriptsFor(findTests(['unit'])).toSorted(), [
    'deploy/fetch-helm.sh',
    'deploy/fetch-promtool.sh',
  ]);
});

test('a machine test that renders the chart fetches Helm, too', () => {
  assert.deepEqual(scriptsFor(['test/machine/deploy/guide.test.ts']), [
    'deploy/install-tools.sh',
    'deploy/fetch-helm.sh',
  ]);
});

test('a run with a time limit builds no kernel module', () => {
  const files = ['test/vm/zfs/zfs.test.ts'];
  const all = scriptsFor(files, false);
  assert.ok(all.includes('test/zfs/packages.sh'));
  assert.deepEqual(
    scriptsFor(files, true),
    all.filter(script => script !== 'test/zfs/packages.sh'),
  );
});

test('each file of the full tier is in exactly one of its parts', () => {
  const files = Object.values(fullParts()).flatMap(part => part.files);
  assert.deepEqual(files.toSorted(), fullTests().toSorted());
});

const part = (...proves: string[]): Part => ({ files: [], seconds: 60, proves });
const some = { a: part('gateway/'), b: part('src/'), c: part('src/api/'), d: part() };

for (const [what, changed, day, order] of [
  ['parts that prove a changed file come first', ['src/api/http.ts'], 0, ['b', 'c', 'a', 'd']],
  ['each day begins with another part', [], 2, ['c', 'd', 'a', 'b']],
  ['changed parts take turns as well', ['src/api/http.ts'], 2, ['c', 'b', 'd', 'a']],
] as const)
  test(`the parts of the full tier: ${what}`, () => {
    assert.deepEqual(orderParts(some, { changed, day }), order);
  });

/**
 * Runs parts of these seconds, each slower by a factor, one after another; returns the parts that ran and the parts
 * that are left.
 */
async function runInTime(limit: number, factor: number, ...seconds: number[]) {
  let clock = 1_000;
  const ran: string[] = [];
  const left = await runParts({
    inOrder: seconds.map((usual, index) => [String(index), usual]),
    limit,
    slots: 1,
    now: () => clock,
    async run(name) {
      ran.push(name);
      const taken = factor * Number(seconds[Number(name)]);
      clock += taken;
      return taken;
    },
  });
  return { ran: ran.join(''), left: left.join('') };
}

for (const [what, limit, factor, seconds, expected] of [
  ['all run if the time is enough', 180, 1, [60, 60, 60], { ran: '012', left: '' }],
  ['a part that takes too long makes way for the next one', 120, 1, [60, 90, 60], { ran: '02', left: '1' }],
  ['a slow machine runs fewer', 180, 2, [60, 60, 20], { ran: '02', left: '1' }],
  ['without time nothing runs', 30, 1, [60], { ran: '', left: '0' }],
] as const)
  test(`the parts of the full tier in a time: ${what}`, async () => {
    assert.deepEqual(await runInTime(limit, factor, ...seconds), expected);
  });

const runFull = (...options: string[]) =>
  spawnSync(process.execPath, ['test/run.ts', '--full', ...options], { encoding: 'utf8' });

test('--list shows the parts with their files, and an unknown part is refused', () => {
  const { stdout, status } = runFull('--list');
  assert.equal(status, 0);
  const lines = stdout.trim().split('\n');
  assert.deepEqual(
    lines.map(line => line.split(' ')[0]),
    Object.keys(fullParts()),
  );
  for (const line of lines) assert.match(line, /^[a-z\-]+ +\d+ s( +\S+\.test\.ts)+$/v);
  const refused = runFull('--part', 'no-part');
  assert.equal(refused.status, 2);
  assert.match(
    refused.stderr,
    /there is no part "no-part"; choose one that npm run test:full -- --list shows/v,
  );
});

test('a name that no test has fails the run', () => {
  const { NODE_TEST_CONTEXT: _context, TEST_TOTALS: _totals, ...env } = process.env;
  const only = (name: string) =>
    spawnSync(process.execPath, ['test/run.ts', '--only', name, 'test/unit/structure.test.ts'], {
      encoding: 'utf8',
      env,
    });
  const mistyped = only('a folder is nmed');
  assert.equal(mistyped.status, 1);
  assert.match(mistyped.stdout, /^no test has a name that matches "a folder is nmed"/m);
  assert.match(mistyped.stdout, /^0 passed, 0 failed$/m);
  assert.equal(only('a folder is named').status, 0);
});

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  test(`${signal} ends a run of tests, which leaves no temporary files`, async t => {
    const directory = temporaryDirectory(t);
    const file = join(directory, 'slow.test.ts');
    writeFileSync(file, "process.stdout.write('started\\n');\nprocess.stdin.resume();\n");
    const place = join(directory, 'tmp');
    mkdirSync(place);
    const env: NodeJS.ProcessEnv = { ...process.env, TMPDIR: place };
    delete env['NODE_TEST_CONTEXT'];
    delete env['TEST_TOTALS'];
    const run = spawn(process.execPath, ['test/run.ts', file], { env, stdio: ['ignore', 'pipe', 'ignore'] });
    for await (const chunk of run.stdout) if (String(chunk).includes('started')) break;
    assert.equal(readdirSync(place).length, 1);
    const ended = once(run, 'exit');
    run.kill(signal);
    await ended;
    assert.deepEqual(readdirSync(place), []);
  });
