import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { vendorOperations } from '../../../src/api/operations.ts';
import type { Failure, Report } from '../../../src/kit/report.ts';
import { requirementOf } from '../../../src/kit/requirements.ts';
import { brokenVendors } from '../../fakes/storages/broken.ts';
import { correctVendors } from '../../fakes/storages/correct.ts';
import { runKit } from '../../fakes/storages/kit.ts';
import { referenceVendors } from '../../fakes/storages/reference.ts';
import { temporaryDirectory } from '../../harness/gateway.ts';
import { noRoot } from '../../harness/machine.ts';
import { isFull, sample, seed } from '../../harness/sample.ts';

/** Makes the seeds: new ones each time, `count` without KIT_SEEDS; KIT_SEEDS=50 takes fifty. */
function seedsOf(count: number): readonly number[] {
  const length = Number(process.env['KIT_SEEDS'] ?? count);
  assert.ok(length >= 1, 'KIT_SEEDS must be a number above 0');
  return Array.from({ length }, (_, index) => (seed + index) % 2 ** 31);
}
const seeds = seedsOf(isFull ? 10 : 1);
const noGo = spawnSync('go', ['version']).status === 0 ? false : 'this needs go';
const examples = [
  ...referenceVendors.map(({ language, command, skip }) => ({ language, skip, build: () => command })),
  { language: 'go', build: buildGo, skip: noGo },
];
const serve = join(import.meta.dirname, '../../fakes/storages/serve.ts');

// A run mostly waits.
void describe('the kit', { concurrency: 3 }, () => {
  for (const { language, build, skip } of sample('examples', examples, 1))
    test(`the kit finds nothing in the vendor in ${language}, with any seed`, { skip }, async t => {
      const command = build(t);
      const hasKey = language === 'typescript';
      for (const one of seeds) {
        const report = await runKit(t, { command, seed: one, hasKey, hasData: noRoot === false });
        assert.deepEqual(faultsOf(report), [], `seed ${one}`);
        assert.deepEqual(report.left, [], `seed ${one}`);
      }
    });

  for (const [name, { does, only, hasImports = false, timeoutMs, startMs }] of sample(
    'correct',
    Object.entries(correctVendors),
    2,
  ))
    test(`the kit finds nothing in a vendor that ${does}`, async t => {
      const command = [process.execPath, '--disable-warning=ExperimentalWarning', serve, name];
      for (const one of seedsOf(1)) {
        const startsAlone = startMs !== undefined;
        const report = await runKit(t, {
          command,
          seed: one,
          only,
          startsAlone,
          hasImports,
          hasData: hasImports && noRoot === false,
          ...(timeoutMs && { timeoutMs }),
        });
        assert.deepEqual(faultsOf(report), [], `seed ${one}`);
        assert.deepEqual(report.left, [], `seed ${one}`);
        if (hasImports) requireImports(report, { hasData: noRoot === false });
      }
    });

  for (const [name, { wrong, caughtBy, needs, hasImports = false, timeoutMs }] of sample(
    'broken',
    Object.entries(brokenVendors),
    8,
  )) {
    const skip = needs === 'data' && noRoot;
    test(`the kit detects by ${caughtBy} that ${wrong}`, { skip }, async t => {
      const command = [process.execPath, '--disable-warning=ExperimentalWarning', serve, name];
      for (const one of seedsOf(1)) {
        const report = await runKit(t, {
          command,
          seed: one,
          only: [caughtBy],
          hasKey: needs === 'key',
          hasData: needs === 'data',
          hasImports,
          ...(timeoutMs && { timeoutMs }),
        });
        const found = report.results.find(({ id, failure }) => id === caughtBy && failure);
        assert.ok(found?.failure, `seed ${one}: it finds ${faultsOf(report).join('\n') || 'nothing'}`);
        if (caughtBy.startsWith('FL-9.')) requireNamedRequest(found.failure);
      }
    });
  }
});

test('a detach without an effect is one fault, whichever checks it disturbs', async t => {
  const command = [process.execPath, '--disable-warning=ExperimentalWarning', serve, 'detach-too-early'];
  const only = ['FL-4.1-4', 'FL-4.2-1', 'FL-4.3-1', 'FL-4.3-3', 'FL-8.3-4', 'FL-8.4-2'];
  const { results } = await runKit(t, { command, seed, only });
  const outcomes = results.map(({ id, outcome }) => `${id} ${outcome}`);
  assert.deepEqual(
    outcomes,
    only.map(id => `${id} ${id === 'FL-4.3-1' ? 'FAIL' : 'SKIP'}`),
  );
});

test('each chapter of the requirements has a broken vendor', () => {
  const chapters = new Set(Object.values(brokenVendors).map(({ caughtBy }) => caughtBy.slice(0, 4)));
  assert.deepEqual([...chapters].toSorted().length, 9);
});

function buildGo(t: TestContext): readonly string[] {
  const program = join(temporaryDirectory(t), 'server');
  const { status, stderr } = spawnSync('go', ['build', '-o', program, '.'], {
    cwd: join(import.meta.dirname, '../../../examples/vendor-go'),
    encoding: 'utf8',
  });
  assert.equal(status, 0, stderr);
  return [program];
}

/** Requires that a fault of bytes shows the request that it names, if it names one. */
function requireNamedRequest({ expected, exchange }: Failure): void {
  const named = vendorOperations.find(({ id }) => expected.startsWith(`${id} of `));
  const { method, path = '' } = exchange?.request ?? {};
  assert.deepEqual([method, path.split('/').length], [named?.method, (named?.path ?? '').split('/').length]);
}

/** Requires that all requirements on imports were checked, those on bytes with `hasData`. */
function requireImports({ results }: Report, { hasData }: { readonly hasData: boolean }): void {
  const imports = results.filter(({ id }) => requirementOf(id).feature === 'import');
  assert.deepEqual(
    imports.filter(({ outcome }) => outcome !== 'PASS').map(({ id }) => id),
    hasData ? [] : ['FL-9.1-11'],
  );
}

function faultsOf({ results }: Report): readonly string[] {
  return results.flatMap(({ id, outcome, failure }) =>
    outcome === 'FAIL' || outcome === 'WARN' ? [`${id} ${outcome}: ${failure?.expected}`] : [],
  );
}
