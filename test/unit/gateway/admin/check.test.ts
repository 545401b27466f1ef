import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { check } from '../../../../gateway/admin/check.ts';
import type { Reader } from '../../../../gateway/store.ts';
import { findingTable } from '../../../../gateway/tables/findings.ts';
import type { Finding } from '../../../../src/api/admin.ts';
import { unavailableProblem } from '../../../../src/api/problem.ts';
import { newVolume, clusters, openGateway, type Gateway } from '../../../harness/gateway.ts';
import { hour } from '../../../harness/gateway/fixtures.ts';

async function look(gateway: Gateway, stuckAfterMs = 0): Promise<readonly string[]> {
  const { findings } = await check({ ...gateway, stuckAfterMs });
  return findings.map(({ problem, kind, id }) => `${problem} ${kind} ${id}`);
}

test('nothing is found if the storage and the store agree', async t => {
  const gateway = await openGateway(t, { volumes: ['one'] });
  await gateway.snapshot('a.snap', 'a.one');
  await gateway.attach('a.one');
  assert.deepEqual(await look(gateway), []);
});

test('an object with any id that only the storage has is unknown', async t => {
  const gateway = await openGateway(t, { volumes: ['known'], orphans: ['a.orphan', 'other-system'] });
  await gateway.snapshot('a.snap', 'a.known');
  await gateway.engine.transaction(sql => sql.run(`delete from snapshots`));
  assert.deepEqual(await look(gateway), [
    'unknown volume a.orphan',
    'unknown volume other-system',
    'unknown snapshot a.snap',
  ]);
});

test('a volume that only the store has is missing, even a soft-deleted one, which alone is no finding', async t => {
  const gateway = await openGateway(t, { volumes: ['one', 'two'], keepDeletedMs: hour });
  await gateway.snapshot('a.snap', 'a.one');
  await gateway.volumes.delete(clusters.a, 'a.two');
  assert.deepEqual(await look(gateway), []);
  for (const id of ['a.one', 'a.two']) await gateway.backend.delete({ id });
  await gateway.backend.snapshots?.delete({ id: 'a.snap' });
  assert.deepEqual(await look(gateway), [
    'missing volume a.one',
    'missing volume a.two',
    'missing snapshot a.snap',
  ]);
});

const unfinished: Readonly<Record<string, (gateway: Gateway) => Promise<unknown>>> = {
  creating: gateway => gateway.create('a.new'),
  deleting: ({ volumes }) => volumes.delete(clusters.a, 'a.one'),
  'attaching node "n1"': gateway => gateway.attach('a.one'),
  'expansion pending': ({ changes }) => changes.expand(clusters.a, 'a.one', { requiredBytes: 2 ** 21 }),
  'creating a snapshot': gateway => gateway.snapshot('a.snap', 'a.one'),
};
for (const [detail, run] of Object.entries(unfinished))
  test(`a volume that is ${detail} is stuck after a long time, and not before`, async t => {
    const gateway = await openGateway(t, { volumes: ['one'] });
    for (const method of ['create', 'delete', 'attach', 'expand', 'snapshot'] as const)
      gateway.backend.failNext(method, 'before', new Error('lost'));
    await assert.rejects(run(gateway));
    assert.deepEqual(await look(gateway, hour), []);
    const { findings } = await check({ ...gateway, stuckAfterMs: 0 });
    const [found, ...others] = findings.map(one => [one.problem, one.detail]);
    assert.deepEqual([found, others], [['stuck', detail.split(' a ')[0]], []]);
  });

test('the age of a finding counts from its first discovery, and starts anew when it returns', async t => {
  const gateway = await openGateway(t, { orphans: ['a.orphan'] });
  const find = async (): Promise<Finding | undefined> =>
    (await check({ ...gateway, stuckAfterMs: 0 })).findings[0];
  assert.ok(((await find())?.ageMs ?? hour) < 1_000);
  await gateway.engine.transaction(sql =>
    sql.run('update findings set first_seen_ms = first_seen_ms - ?', hour),
  );
  assert.ok(((await find())?.ageMs ?? 0) >= hour);
  await gateway.backend.delete({ id: 'a.orphan' });
  assert.equal(await find(), undefined);
  await gateway.backend.create(newVolume('a.orphan'));
  assert.ok(((await find())?.ageMs ?? hour) < 1_000);
});

test('a check of many volumes holds their ids, in any order, but no rows', async t => {
  const gateway = await openGateway(t);
  const count = 100_000;
  const [missing, unknown] = [idOf(count / 2), 'a.unknown'];
  async function* list(): AsyncGenerator<string> {
    yield unknown;
    for (let index = count - 1; index >= 0; index--) if (idOf(index) !== missing) yield idOf(index);
  }
  const heapBefore = collectGarbage();
  let [heap, reads] = [0, 0];
  const reader: Reader = {
    async all(sql, ...values) {
      if (!sql.includes('from volumes where id > ?')) return gateway.engine.reader.all(sql, ...values);
      if (reads++ % 1_000 === 0) heap = Math.max(heap, collectGarbage());
      const [afterId, limit] = values;
      const first = afterId === '' ? 0 : Number(String(afterId).slice(3)) - 1_000_000 + 1;
      const size = Math.min(Number(limit), count - first);
      return Array.from({ length: size }, (_, index) => rowOf(idOf(first + index)));
    },
  };
  const [pool] = gateway.pools.all();
  assert.ok(pool);
  const pools = { ...gateway.pools, all: () => [{ ...pool, backend: { ...pool.backend, list } }] };
  const engine = { ...gateway.engine, reader };
  const { findings } = await check({ ...gateway, engine, pools, stuckAfterMs: 0 });
  assert.deepEqual(
    findings.map(({ problem, id }) => `${problem} ${id}`),
    [`missing ${missing}`, `unknown ${unknown}`],
  );
  assert.ok(reads > count / 50);
  // The ids take 8 MiB, and the rows of both reads of the store would take 23 MiB more.
  assert.ok(heap - heapBefore < 16 * 2 ** 20, `${Math.round((heap - heapBefore) / 2 ** 20)} MiB`);
});

function idOf(index: number): string {
  return `a.m${1_000_000 + index}`;
}

function rowOf(id: string) {
  return { id, storage_id: id, pool: 'main', state: 'ready', created_at_ms: 1 };
}

/** Returns the bytes that are in use. */
function collectGarbage(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  return process.memoryUsage().heapUsed;
}

test('an object that is made and removed during a check is no finding', async t => {
  const gateway = await openGateway(t);
  const stop = new AbortController();
  const churn = async (): Promise<void> => {
    for (let round = 0; !stop.signal.aborted; round++) {
      await gateway.create(`a.v${round % 5}`);
      await gateway.volumes.delete(clusters.a, `a.v${round % 5}`);
    }
  };
  const churning = churn();
  for (let round = 0; round < 30; round++) assert.deepEqual(await look(gateway, hour), []);
  stop.abort();
  await churning;
});

test('an object that was made and removed between two reads of the store is no finding', async t => {
  const gateway = await openGateway(t, { volumes: ['one'] });
  const pool = gateway.pools.all()[0] ?? assert.fail('there is no pool');
  let lists = 0;
  async function* list(): AsyncGenerator<string> {
    const isFirst = ++lists === 1;
    if (isFirst) await gateway.create('a.brief');
    yield* pool.backend.list?.() ?? [];
    if (isFirst) await gateway.volumes.delete(clusters.a, 'a.brief');
  }
  const pools = { ...gateway.pools, all: () => [{ ...pool, backend: { ...pool.backend, list } }] };
  const { findings, foreign } = await check({ ...gateway, pools, stuckAfterMs: 0 });
  assert.deepEqual([findings, [...foreign], lists], [[], [], 2]);
});

test('an object that was made, removed and made again between the reads of the store is no finding', async t => {
  const gateway = await openGateway(t);
  const pool = gateway.pools.all()[0] ?? assert.fail('there is no pool');
  let lists = 0;
  async function* list(): AsyncGenerator<string> {
    const isFirst = ++lists === 1;
    await gateway.create('a.brief');
    yield* pool.backend.list?.() ?? [];
    if (isFirst) await gateway.volumes.delete(clusters.a, 'a.brief');
  }
  const pools = { ...gateway.pools, all: () => [{ ...pool, backend: { ...pool.backend, list } }] };
  const { findings, foreign } = await check({ ...gateway, pools, stuckAfterMs: 0 });
  assert.deepEqual([findings, [...foreign], lists], [[], [], 2]);
});

test('a check with many findings reads a hundred rows at a time, and forgets none', async t => {
  const orphans = Array.from({ length: 350 }, (_, index) => `a.orphan-${index}`);
  const gateway = await openGateway(t, { orphans });
  let max = 0;
  const all: Reader['all'] = async (...query) => {
    const rows = await gateway.engine.reader.all(...query);
    max = Math.max(max, rows.length);
    return rows;
  };
  const options = { ...gateway, engine: { ...gateway.engine, reader: { all } }, stuckAfterMs: 0 };
  assert.equal((await check(options)).findings.length, orphans.length);
  await gateway.engine.transaction(sql =>
    sql.run('update findings set first_seen_ms = first_seen_ms - ?', hour),
  );
  const { findings } = await check(options);
  assert.deepEqual([findings.length, findings.filter(({ ageMs }) => ageMs < hour)], [orphans.length, []]);
  for (const id of orphans) await gateway.backend.delete({ id });
  assert.deepEqual((await check(options)).findings, []);
  assert.deepEqual(await findingTable.select(gateway.engine.reader, {}), []);
  assert.ok(max <= 100, `${max} rows at a time`);
});

test('an unreachable pool is named, the others are checked, and its earlier findings keep their age', async t => {
  const gateway = await openGateway(t, { pools: ['dead', 'main'], orphans: ['a.orphan'] });
  const { backend: dead, backends } = gateway;
  const fails = { is: false };
  const { list } = dead;
  dead.list = async function* () {
    if (fails.is) throw unavailableProblem('pool "dead": its storage does not answer');
    yield* list?.() ?? [];
  };
  await backends['main']?.create(newVolume('a.other'));
  await check({ ...gateway, stuckAfterMs: 0 });
  await gateway.engine.transaction(sql =>
    sql.run('update findings set first_seen_ms = first_seen_ms - ?', hour),
  );
  fails.is = true;
  const { findings, unchecked } = await check({ ...gateway, stuckAfterMs: 0 });
  assert.deepEqual(
    findings.map(({ pool, id }) => [pool, id]),
    [['main', 'a.other']],
  );
  assert.deepEqual(unchecked, [{ pool: 'dead', detail: 'its storage does not answer' }]);
  fails.is = false;
  const [found] = (await check({ ...gateway, stuckAfterMs: 0 })).findings;
  assert.ok(found?.id === 'a.orphan' && found.ageMs >= hour);
});
