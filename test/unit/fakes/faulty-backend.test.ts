import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Backend } from '../../../gateway/backend.ts';
import type { MemoryBackend } from '../../../gateway/backends/memory.ts';
import { featuresOf } from '../../../gateway/pools/features.ts';
import { Problem } from '../../../src/api/problem.ts';
import { withinTime } from '../../../src/lib/concurrency.ts';
import { createFaultyBackend } from '../../fakes/faulty-backend.ts';
import type { Rule } from '../../fakes/faulty-backend/rules.ts';
import { openMemory, temporaryDirectory } from '../../harness/gateway.ts';
import { idsOf, newVolume } from '../../suites/backend-fixtures.ts';
import { testBackend } from '../../suites/backend.ts';

async function lay(
  rules: readonly Rule[],
  options: { seed?: number; journal?: string } = {},
): Promise<MemoryBackend> {
  return createFaultyBackend(await openMemory(), { rules, seed: 1, ...options });
}

testBackend(async () => {
  const backend = await lay([
    { on: 'all', chance: 0, fault: 'hang' },
    { on: 'all', chance: 0.5, fault: 'latency', minMs: 0, maxMs: 2 },
  ]);
  return { backend, content: backend, mutableParameters: { tier: 'fast' } };
});

test('the wrapped backend has the members of the inner one, and no others', async () => {
  const { expand: _expand, snapshots: _snapshots, list: _list, ...bare } = await openMemory();
  const faulty = createFaultyBackend(bare as Backend);
  const { calls: _calls, failNext: _failNext, hold: _hold, entered: _entered, ...wrapped } = faulty;
  assert.deepEqual(Object.keys(wrapped).sort(), Object.keys(bare).sort());
  assert.deepEqual(featuresOf(await lay([])), featuresOf(await openMemory()));
});

const faults = [
  { fault: 'fail', code: 'UNAVAILABLE', there: [] },
  { fault: 'locked', code: 'ABORTED', there: [] },
  { fault: 'busy', code: 'UNAVAILABLE', there: [] },
  { fault: 'fail-after', code: 'UNAVAILABLE', there: ['a.volume'] },
  // A broken connection throws an error that is no Problem.
  { fault: 'lost-answer', code: undefined, there: ['a.volume'] },
] as const;
for (const { fault, code, there } of faults) {
  test(`"${fault}" fails only the first create, and leaves ${there.length} volumes`, async () => {
    const backend = await lay([{ on: ['create'], call: 1, fault }]);
    const error: unknown = await backend.create(newVolume()).catch(reason => reason);
    assert.equal(error instanceof Problem ? error.code : undefined, code);
    assert.deepEqual(await idsOf(backend), there);
    assert.equal((await backend.create(newVolume())).sizeBytes, 2 ** 20);
  });
}

test('a call that hangs never ends and does nothing', async () => {
  const backend = await lay([{ on: ['create'], call: 1, fault: 'hang' }]);
  assert.equal(await withinTime(backend.create(newVolume()), 100), undefined);
  assert.deepEqual(await idsOf(backend), []);
});

test('a wrong size is answered for a volume with the right one', async () => {
  const backend = await lay([{ on: 'all', call: 1, fault: 'wrong-size' }]);
  assert.equal((await backend.create(newVolume())).sizeBytes, 2 ** 19);
  assert.equal((await backend.create(newVolume())).sizeBytes, 2 ** 20);
});

test('a partial page ends early, as if it were complete', async () => {
  const backend = await lay([{ on: 'all', every: 2, fault: 'partial-page' }]);
  for (const id of ['a.1', 'a.2', 'a.3']) await backend.create(newVolume({ id }));
  const lengths: number[] = [];
  for (let round = 0; round < 3; round++) lengths.push((await idsOf(backend)).length);
  assert.deepEqual(lengths, [3, 1, 3]);
});

test('the same seed gives the same faults, another seed gives others, and chances are met', async () => {
  const first = await fateOf(7);
  assert.equal(await fateOf(7), first);
  assert.notEqual(await fateOf(8), first);
  const failures = first.replaceAll('.', '').length;
  assert.ok(failures > 240 && failures < 360, `${failures} of 1000`);
});

test('the journal has the changes and the injected faults', async t => {
  const journal = join(temporaryDirectory(t), 'journal');
  const rules: readonly Rule[] = [
    { on: ['create'], call: 2, fault: 'lost-answer' },
    { on: ['delete'], call: 1, fault: 'fail' },
  ];
  const backend = await lay(rules, { journal });
  await backend.create(newVolume());
  await backend.create(newVolume()).catch(() => undefined);
  await backend.delete({ id: 'a.volume' }).catch(() => undefined);
  const entries = readFileSync(journal, 'utf8')
    .trim()
    .split('\n')
    .map(line => JSON.parse(line));
  assert.deepEqual(
    entries.map(({ method, id, done, fault }) => [method, id, done, fault]),
    [
      ['create', 'a.volume', true, undefined],
      ['create', 'a.volume', true, 'lost-answer'],
      ['delete', 'a.volume', false, 'fail'],
    ],
  );
});

async function fateOf(seed: number): Promise<string> {
  const backend = await lay([{ on: ['delete'], chance: 0.3, fault: 'fail' }], { seed });
  const fates: string[] = [];
  const note = (fate: string) => (): unknown => fates.push(fate);
  for (let index = 0; index < 1_000; index++) await backend.delete({ id: 'a.1' }).then(note('.'), note('x'));
  return fates.join('');
}
