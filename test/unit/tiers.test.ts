import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { chooseParts, type Part } from '../parts.ts';
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

test('each file of the full tier is in exactly one of its parts', () => {
  const files = Object.values(fullParts()).flatMap(part => part.files);
  assert.deepEqual(files.toSorted(), fullTests().toSorted());
});

const part = (seconds: number, ...proves: string[]): Part => ({ files: [], seconds, proves });
const some = { a: part(60, 'gateway/'), b: part(60, 'src/'), c: part(60, 'src/api/'), d: part(300) };

for (const [what, changed, day, seconds, run] of [
  ['parts that prove a changed file come first', ['src/api/http.ts'], 0, 120, ['b', 'c']],
  ['others follow while there is time', ['gateway/main.ts'], 1, 180, ['a', 'b', 'c']],
  ['each day begins with another part', [], 2, 60, ['c']],
  ['a part that takes too long makes way for the next one', [], 3, 120, ['a', 'b']],
  ['without time nothing runs', ['gateway/main.ts'], 0, 30, []],
] as const)
  test(`the parts of the full tier: ${what}`, () => {
    const choice = chooseParts(some, { changed, day, seconds });
    assert.deepEqual(choice.run, run);
    assert.deepEqual(
      [...choice.run, ...choice.left].toSorted(),
      Object.keys(some),
      'each part is run or left out',
    );
  });

const list = (...options: string[]): { stdout: string; stderr: string; status: number | null } =>
  spawnSync(process.execPath, ['test/run.ts', '--full', '--list', ...options], { encoding: 'utf8' });

test('--list shows the parts that fit into a time with their files, and an unknown part is refused', () => {
  const { stdout, status } = list('--minutes', '12');
  assert.equal(status, 0);
  const [chosen = '', , ...parts] = stdout.trim().split('\n');
  assert.deepEqual(
    parts.map(line => line.split(' ')[0]),
    chosen.replace('parts of the full tier: ', '').split(', '),
  );
  for (const line of parts) assert.match(line, /^[a-z\-]+ +\d+ s( +\S+\.test\.ts)+$/v);
  const refused = list('--part', 'no-part');
  assert.equal(refused.status, 2);
  assert.match(
    refused.stderr,
    /there is no part "no-part"; choose one that npm run test:full -- --list shows/v,
  );
});
