import assert from 'node:assert/strict';
import { mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { Backend } from '../../../../gateway/backend.ts';
import { backends } from '../../../../gateway/backends/index.ts';
import { openMemory } from '../../../../gateway/backends/memory.ts';
import { openConfiguration } from '../../../../gateway/configuration/configuration.ts';
import { capabilitiesOf } from '../../../../gateway/pools/features.ts';
import type { Pool } from '../../../../gateway/pools/pools.ts';
import { unavailableProblem } from '../../../../src/api/problem.ts';
import { poll } from '../../../../src/lib/concurrency.ts';
import { createMemoryLog, temporaryDirectory } from '../../../harness/gateway.ts';

const memory = { backend: 'memory' };

test('a pool that does not answer waits, while the others are served, and is used once it answers', async t => {
  const { served, slow, lines, isLate } = await open(t, { slow: { backend: 'slow' }, one: memory });
  const { pools } = served;
  assert.deepEqual(namesOf(pools.all()), ['one']);
  assert.deepEqual(namesOf(pools.offered()), ['one', 'slow']);
  const isUnopened = { code: 'UNAVAILABLE', message: /^pool "slow" is not open yet: its storage has not/ };
  assert.throws(() => pools.get('slow'), isUnopened);
  assert.match(lines.join('\n'), /error a pool cannot be reached; it is tried again .*slow/);
  await served.readAgain();
  assert.equal(slow.openings.length, 1, 'it is not asked twice at a time');
  slow.openings[0]?.resolve(openMemory({ capacity: 1 }));
  await poll(() => pools.all().length === 2 || undefined, { everyMs: 1, timeoutMs: 10_000 });
  assert.deepEqual([namesOf(pools.all()), [...pools.waiting()]], [['slow', 'one'], []]);
  assert.ok(isLate(), 'unfinished work in it is resumed');
  assert.match(lines.join('\n'), /info a waiting pool was opened .*pools\.slow/);
});

test('a pool whose fault shows late waits, operators see the fault, and callers do not', async t => {
  const { served, slow, lines } = await open(t, { slow: { backend: 'slow' }, one: memory });
  const settling = served.settle(10_000);
  slow.openings[0]?.reject(unavailableProblem('the storage is down'));
  await settling;
  assert.equal(served.pools.waiting().get('slow')?.reason, 'the storage is down');
  const again = served.readAgain();
  await poll(() => slow.openings[1], { everyMs: 1, timeoutMs: 10_000 });
  slow.openings[1]?.reject(new Error('it holds "b.secret"'));
  await again;
  await served.readAgain();
  const { problem, reason } = served.pools.waiting().get('slow') ?? {};
  assert.equal(reason, 'it holds "b.secret"');
  assert.equal(problem?.code, 'UNAVAILABLE');
  assert.doesNotMatch(problem.detail, /secret/);
  assert.equal(lines.filter(line => /pools\.slow: it holds .*secret/.test(line)).length, 1);
});

test('a fault that shows while the gateway starts refuses the start, and leaves the pools in use open', async t => {
  const { served, slow } = await open(t, { slow: { backend: 'slow' }, one: memory });
  const settling = served.settle(10_000);
  slow.openings[0]?.reject(new Error('it is wrong'));
  await assert.rejects(settling, ({ errors }: AggregateError) => {
    assert.deepEqual(errors.map(String), ['Error: pools.slow: it is wrong']);
    return true;
  });
  assert.deepEqual(namesOf(served.pools.all()), ['one']);
  await served.close();
  assert.deepEqual(served.pools.all(), []);
});

test('a pool that does not answer is opened with new settings, and closed with the former ones', async t => {
  const { served, slow, write } = await open(t, { slow: { backend: 'slow' }, one: memory });
  write({ slow: { backend: 'slow', capacity: 7 }, one: memory });
  await served.readAgain();
  let closed = 0;
  const close = async (): Promise<void> => void closed++;
  slow.openings[0]?.resolve({ ...openMemory({ capacity: 1 }), close });
  slow.openings[1]?.resolve(openMemory({ capacity: 7 }));
  await poll(() => closed > 0 || undefined, { everyMs: 1, timeoutMs: 10_000 });
  assert.equal((await served.pools.get('slow').backend.capacity?.())?.totalBytes, 7);
  write({ third: { backend: 'slow' }, one: memory });
  await served.readAgain();
  await served.close();
  slow.openings[2]?.resolve({ ...openMemory({ capacity: 1 }), close });
  await poll(() => closed > 1 || undefined, { everyMs: 1, timeoutMs: 10_000 });
  assert.equal(closed, 2, 'a pool that opens after the end is closed');
});

test('a pool that opens after its settings changed is neither marked nor restored', async t => {
  const { served, slow, write, uses } = await open(t, {
    slow: { backend: 'slow', capacity: 1 },
    one: memory,
  });
  write({ slow: { backend: 'slow', capacity: 2 }, one: memory });
  await served.readAgain();
  const closed = Promise.withResolvers<void>();
  slow.openings[0]?.resolve({ ...openMemory({ capacity: 1 }), close: async () => closed.resolve() });
  await closed.promise;
  slow.openings[1]?.resolve(openMemory({ capacity: 2 }));
  await poll(() => served.pools.all().length === 2 || undefined, { everyMs: 1, timeoutMs: 10_000 });
  assert.deepEqual(uses('slow'), ['own 2', 'restore 2']);
});

test('a pool whose settings change while its mark is read is not restored', async t => {
  const owning = Promise.withResolvers<void>();
  const { served, slow, write, uses } = await open(
    t,
    { slow: { backend: 'slow', capacity: 1 }, one: memory },
    owning,
  );
  slow.openings[0]?.resolve(openMemory({ capacity: 1 }));
  await poll(() => uses('slow').length > 0 || undefined, { everyMs: 1, timeoutMs: 10_000 });
  write({ slow: { backend: 'slow', capacity: 2 }, one: memory });
  await served.readAgain();
  slow.openings[1]?.resolve(openMemory({ capacity: 2 }));
  owning.resolve();
  await poll(() => served.pools.all().length === 2 || undefined, { everyMs: 1, timeoutMs: 10_000 });
  assert.deepEqual(uses('slow'), ['own 1', 'own 2', 'restore 2']);
});

test('capabilities are UNAVAILABLE while a usable pool is opened for the first time, for 30 s at most', async t => {
  const { served, slow } = await open(t, { slow: { backend: 'slow' }, one: memory });
  const namesFor = (usable?: readonly string[]) =>
    namesOf(capabilitiesOf(served.pools, { name: 'a', acceptAnyNode: false, pools: usable }).pools);
  const isUnopened = { code: 'UNAVAILABLE', message: /^pool "slow" is not open yet/ };
  assert.throws(() => namesFor(), isUnopened);
  assert.deepEqual(namesFor(['one']), ['one'], 'a cluster that may not use the pool does not wait for it');
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() + 30_000 });
  assert.deepEqual(namesFor(), ['one']);
  t.mock.timers.reset();
  assert.throws(() => namesFor(), isUnopened);
  slow.openings[0]?.reject(unavailableProblem('the storage is down'));
  await served.settle(10_000);
  assert.deepEqual(namesFor(), ['one'], 'the first opening has ended');
});

/** Opens a configuration with a backend `slow`, which opens when the test says so, and is marked after `owning`. */
async function open(t: TestContext, first: object, owning?: PromiseWithResolvers<void>) {
  const directory = temporaryDirectory(t);
  mkdirSync(directory, { recursive: true });
  const path = join(directory, 'gateway.yaml');
  let writes = 0;
  const write = (pools: object): void => {
    writeFileSync(path, JSON.stringify({ pools }));
    utimesSync(path, new Date(), new Date(Date.now() + ++writes * 1_000));
  };
  write(first);
  const openings: PromiseWithResolvers<Backend>[] = [];
  const openSlow = (): Promise<Backend> => {
    const opening = Promise.withResolvers<Backend>();
    openings.push(opening);
    return opening.promise;
  };
  const plugins = { ...backends, slow: { ...backends.memory, open: openSlow } };
  const { log, lines } = createMemoryLog();
  let isLate = false;
  const onLateOpen = (): void => void (isLate = true);
  const used: { readonly name: string; readonly use: string }[] = [];
  const noteUse = async (use: string, { name, backend }: Pool): Promise<void> => {
    used.push({ name, use: `${use} ${(await backend.capacity?.())?.totalBytes}` });
  };
  const served = await openConfiguration(path, {
    plugins,
    log,
    patienceMs: 20,
    onLateOpen,
    async requireOwned(pool) {
      await noteUse('own', pool);
      if (pool.name === 'slow') await owning?.promise;
    },
    restore: pool => noteUse('restore', pool),
  });
  const uses = (pool: string) => used.filter(({ name }) => name === pool).map(({ use }) => use);
  t.after(() => served.close());
  return { served, slow: { openings }, lines, write, uses, isLate: () => isLate };
}

function namesOf(pools: readonly { readonly name: string }[]): readonly string[] {
  return pools.map(({ name }) => name);
}
