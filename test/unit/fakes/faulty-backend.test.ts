import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Backend } from '../../../gateway/backend.ts';
import { layFaults } from '../../fakes/faulty-backend.ts';
import { parseRules } from '../../fakes/faulty-backend/rules.ts';
import { featuresOf } from '../../../gateway/pools/features.ts';
import { newVolume, testBackend } from '../../suites/backend.ts';
import { testBackendMembers } from '../../suites/backend-members.ts';
import { openMemory, temporaryDirectory } from '../../harness/gateway-harness.ts';
import { isProblem, isProblemThat } from '../../harness/gateway-problems.ts';

const roomBytes = 4 * 2 ** 30;

async function lay(rules: string, options: { seed?: number; journal?: string } = {}): Promise<Backend> {
  return layFaults(await openMemory(roomBytes), { rules: parseRules(rules), seed: 1, ...options });
}

testBackend(() => lay('all 0% fail; all 50% latency 0ms..2ms'));
testBackendMembers(async () => {
  const backend = layFaults(await openMemory(roomBytes), { rules: parseRules('all 0% hang'), seed: 1 });
  return { backend, content: backend, mutableParameters: { tier: 'fast' } };
});

test('what the inner backend has is there, and what it has not is absent', async () => {
  const { expand: _expand, snapshots: _snapshots, list: _list, ...bare } = await openMemory();
  const wrapped = layFaults(bare as Backend, { rules: parseRules('all 1% fail'), seed: 1 });
  assert.deepEqual(Object.keys(wrapped).sort(), Object.keys(bare).sort());
  assert.deepEqual(featuresOf(await lay('all 1% fail')), featuresOf(await openMemory()));
});

const faults = [
  { rule: 'create call 1 fail', code: 'UNAVAILABLE', says: /storage failed/, there: [] },
  { rule: 'create call 1 locked', code: 'ABORTED', says: /has it locked/, there: [] },
  { rule: 'all call 1 busy', code: 'UNAVAILABLE', says: /asks for fewer calls/, there: [] },
  { rule: 'create call 1 fail-after', code: 'UNAVAILABLE', says: /storage failed/, there: ['a.volume'] },
] as const;
for (const { rule, code, says, there } of faults) {
  test(`"${rule}" fails the first create and no other, with ${there.length} volumes made`, async () => {
    const backend = await lay(rule);
    await assert.rejects(backend.create(newVolume()), isProblemThat(code, says));
    assert.deepEqual(await Array.fromAsync(backend.list?.() ?? []), there);
    assert.equal((await backend.create(newVolume())).sizeBytes, 2 ** 20);
  });
}

test('a lost answer is an error that nobody has named, of what was done', async () => {
  const backend = await lay('create call 1 lost-answer');
  await assert.rejects(backend.create(newVolume()), error => !isProblem('UNAVAILABLE')(error));
  assert.deepEqual(await Array.fromAsync(backend.list?.() ?? []), ['a.volume']);
});

test('a call that hangs never ends and does nothing', async () => {
  const backend = await lay('create call 1 hang');
  const hanging = backend.create(newVolume()).then(() => 'ended');
  assert.equal(await Promise.race([hanging, sleep(100, 'hangs')]), 'hangs');
  assert.deepEqual(await Array.fromAsync(backend.list?.() ?? []), []);
});

test('a latency delays, and leaves the outcome as it is', async () => {
  const backend = await lay('create every 1 latency 60ms..80ms');
  const startedMs = performance.now();
  await backend.create(newVolume());
  assert.ok(performance.now() - startedMs >= 55);
});

test('a wrong size is told of what was made with the right one', async () => {
  const backend = await lay('create,expand call 1 wrong-size');
  assert.equal((await backend.create(newVolume())).sizeBytes, 2 ** 19);
  assert.equal((await backend.create(newVolume())).sizeBytes, 2 ** 20);
});

test('a partial page ends early, as if that were all', async () => {
  const backend = await lay('list every 2 partial-page');
  for (const id of ['a.1', 'a.2', 'a.3']) await backend.create(newVolume({ id }));
  const lengths: number[] = [];
  for (let round = 0; round < 3; round++)
    lengths.push((await Array.fromAsync(backend.list?.() ?? [])).length);
  assert.deepEqual(lengths, [3, 1, 3]);
});

test('the same seed gives the same faults, another one others, and a chance is met', async () => {
  const first = await fateOf(7);
  assert.equal(await fateOf(7), first);
  assert.notEqual(await fateOf(8), first);
  const failures = first.replaceAll('.', '').length;
  assert.ok(failures > 240 && failures < 360, `${failures} of 1000`);
});

test('the journal tells what was done and what was injected', async t => {
  const journal = join(temporaryDirectory(t), 'journal');
  const backend = await lay('create call 2 lost-answer; delete call 1 fail', { journal });
  await backend.create(newVolume());
  await backend.create(newVolume()).catch(() => undefined);
  await backend.delete({ id: 'a.volume' }).catch(() => undefined);
  const lines = readFileSync(journal, 'utf8').trim().split('\n');
  const entries = lines.map(line => JSON.parse(line) as Record<string, unknown>);
  assert.deepEqual(
    entries.map(({ method, id, done, fault }) => ({ method, id, done, fault })),
    [
      { method: 'create', id: 'a.volume', done: true, fault: undefined },
      { method: 'create', id: 'a.volume', done: true, fault: 'lost-answer' },
      { method: 'delete', id: 'a.volume', done: false, fault: 'fail' },
    ],
  );
});

async function fateOf(seed: number): Promise<string> {
  const backend = await lay('delete 30% fail', { seed });
  const fates: string[] = [];
  const note = (fate: string) => (): unknown => fates.push(fate);
  for (let index = 0; index < 1_000; index++) await backend.delete({ id: 'a.1' }).then(note('.'), note('x'));
  return fates.join('');
}

const bad = [
  { text: '', says: /^there is no rule/ },
  { text: 'create', says: /^rule 1, "create": "" does not say when/ },
  {
    text: 'create 10% fail; melt 1% fail',
    says: /^rule 2, "melt 1% fail": "melt" is not one of all, create/,
  },
  { text: 'create maybe fail', says: /"maybe" does not say when/ },
  { text: 'create 101% fail', says: /"101%" does not say when/ },
  { text: 'create every 0 fail', says: /"0" is not a whole number/ },
  { text: 'create call fail', says: /"fail" is not a whole number/ },
  { text: 'create 1% explode', says: /"explode" is not one of latency, crash, fail/ },
  { text: 'create 1%', says: /"" is not one of latency/ },
  { text: 'create 1% fail now', says: /"now" is too much/ },
  { text: 'create 1% latency', says: /"" is not a duration/ },
  { text: 'create 1% latency 5s..1s', says: /"5s..1s" is not a span/ },
  { text: 'create 1% crash later', says: /"later" is not one of before-intent/ },
  { text: 'list 1% crash before-intent', says: /"crash" cannot happen to "list"/ },
  { text: 'attach 1% wrong-size', says: /"wrong-size" cannot happen to "attach"/ },
  { text: 'create 1% partial-page', says: /"partial-page" cannot happen to "create"/ },
  { text: 'all,create 1% fail', says: /"all" stands alone/ },
];
for (const { text, says } of bad) {
  test(`the rules "${text}" are refused with the part that is wrong`, () => {
    assert.throws(
      () => parseRules(text),
      (error: Error) => says.test(error.message),
    );
  });
}
