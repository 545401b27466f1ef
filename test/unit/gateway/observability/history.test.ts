import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { createHistoryRecorder } from '../../../../gateway/observability/history.ts';
import { createPools } from '../../../../gateway/pools/pools.ts';
import { createAnswers } from '../../../../gateway/pools/state/answers.ts';
import { addToHistory, keptMinutes, type PoolMinute } from '../../../../gateway/tables/history.ts';
import { Problem } from '../../../../src/api/problem.ts';
import { assertProblem, clusters, newVolume, openGateway, type Gateway } from '../../../harness/gateway.ts';

const startMs = Date.parse('2026-05-01T12:00:00Z');
const quiet = { calls: 0, failedCalls: 0, waiting: 0, waitMs: 0 };

type Minutes = readonly { readonly id: string; readonly pools: readonly object[] }[];

async function ask(gateway: Gateway, query = '', as = 'reader of operators'): Promise<Minutes> {
  const { status, body } = await gateway.ask(`GET /v1/admin/history${query}`, { as });
  assert.equal(status, 200, JSON.stringify(body));
  return body['minutes'] as Minutes;
}

/** Creates the recorder of a replica, whose queues the test sets, over its own view of the pool. */
function openReplica({ engine, backend }: Pick<Gateway, 'engine' | 'backend'>) {
  const answers = createAnswers();
  const watched = answers.watch(backend);
  const waits: { waiting: number; oldestWaitMs: number }[] = [];
  const queues = {
    show: () =>
      waits.map(one => ({ ...one, pool: 'main', cluster: 'a', running: 0, limit: 1, waitingOperations: [] })),
  };
  const pools = createPools(() => [{ name: 'main', backend: watched, answers }]);
  return { record: createHistoryRecorder({ engine, pools, queues }), backend: watched, waits };
}

async function openAt(t: TestContext, options: Parameters<typeof openGateway>[1] = {}) {
  t.mock.timers.enable({ apis: ['Date'], now: startMs });
  const gateway = await openGateway(t, { capacity: 2 ** 30, ...options });
  const nextMinute = (): void => t.mock.timers.tick(60_000);
  return { gateway, nextMinute };
}

const fail = () => Promise.reject(new Problem('UNAVAILABLE', 'the storage does not answer'));

test('a minute has the space of each pool, and the calls that ended since the minute before', async t => {
  const { gateway, nextMinute } = await openAt(t, {
    volumes: ['kept', 'gone'],
    keepDeletedMs: 3_600_000,
    own: { delete: fail },
  });
  await gateway.volumes.delete(clusters.a, 'a.gone');
  const { record, backend } = openReplica(gateway);
  await record();
  await backend.create(newVolume('one'));
  await assert.rejects(backend.delete(newVolume('one')), { code: 'UNAVAILABLE' });
  await record();
  nextMinute();
  await record();
  const space = { pool: 'main', totalBytes: 2 ** 30, reservedBytes: 2 ** 21, deletedBytes: 2 ** 20 };
  const [last, first, ...others] = await ask(gateway);
  assert.deepEqual(first, { id: '2026-05-01T12:00:00.000Z', pools: [{ ...space, ...quiet }] });
  assert.equal(last?.id, '2026-05-01T12:01:00.000Z');
  assert.deepEqual(last.pools, [{ ...space, ...quiet, calls: 2, failedCalls: 1 }]);
  assert.deepEqual(others, []);
});

test('replicas add their calls and waits to the same minute', async t => {
  const { gateway, nextMinute } = await openAt(t);
  const replicas = [openReplica(gateway), openReplica(gateway)];
  for (const { record } of replicas) await record();
  for (const [index, { backend, waits, record }] of replicas.entries()) {
    await backend.create(newVolume(`of-${index}`));
    waits.push({ waiting: 3, oldestWaitMs: 1_000 * (index + 1) }, { waiting: 2, oldestWaitMs: 5 });
    await record();
    waits.length = 0;
  }
  nextMinute();
  await Promise.all(replicas.map(({ record }) => record()));
  const [last] = await ask(gateway);
  assert.partialDeepStrictEqual(last?.pools, [{ calls: 2, failedCalls: 0, waiting: 10, waitMs: 2_000 }]);
});

test('the calls of a minute in which the store did not answer are those of the next one', async t => {
  const { gateway, nextMinute } = await openAt(t);
  const fault = { isDown: false };
  const engine: Gateway['engine'] = {
    ...gateway.engine,
    transaction: work =>
      fault.isDown
        ? Promise.reject(new Problem('UNAVAILABLE', 'the store does not answer'))
        : gateway.engine.transaction(work),
  };
  const { record, backend, waits } = openReplica({ ...gateway, engine });
  await record();
  await backend.create(newVolume('one'));
  waits.push({ waiting: 1, oldestWaitMs: 7 });
  fault.isDown = true;
  nextMinute();
  await assert.rejects(record(), { code: 'UNAVAILABLE' });
  waits.length = 0;
  fault.isDown = false;
  nextMinute();
  await record();
  const minutes = await ask(gateway);
  assert.equal(minutes.length, 2);
  assert.partialDeepStrictEqual(minutes[0]?.pools, [{ calls: 1, waiting: 1, waitMs: 7 }]);
});

/** Returns the minute of each. */
const times = (minutes: Minutes): readonly string[] => minutes.map(({ id }) => id.slice(14, 16));

test('operators and their readers list the last 24 hours page by page, and clusters do not', async t => {
  const { gateway, nextMinute } = await openAt(t, { pools: ['fast', 'main'] });
  const share = new Map(['fast', 'main'].map(name => [name, { ...largest, totalBytes: undefined }]));
  for (let minute = 0; minute < 5; minute++) {
    await gateway.engine.transaction(sql => addToHistory(sql, share));
    nextMinute();
  }
  assert.deepEqual(times(await ask(gateway)), ['04', '03', '02', '01', '00']);
  const range = '?since=2026-05-01T12:01:00Z&until=2026-05-01T12:03:00Z&pool=fast';
  const selected = await ask(gateway, range, 'operator');
  assert.deepEqual(times(selected), ['02', '01']);
  assert.partialDeepStrictEqual(selected[0]?.pools, [{ pool: 'fast' }]);
  assert.equal(selected[0]?.pools.length, 1);
  const { body } = await gateway.ask('GET /v1/admin/history?limit=2', { as: 'operator' });
  const rest = await ask(gateway, `?pageToken=${encodeURIComponent(String(body['nextPageToken']))}`);
  assert.deepEqual(times(rest), ['02', '01', '00']);
  assert.deepEqual(await ask(gateway, '?pageToken=history:none'), []);
  const foreign = await gateway.ask('GET /v1/admin/history?pageToken=audit-log:1', { as: 'operator' });
  assertProblem(foreign, 409, 'ABORTED');
  assertProblem(await gateway.ask('GET /v1/admin/history'), 404, 'NOT_FOUND');
});

const largest: PoolMinute = {
  totalBytes: Number.MAX_SAFE_INTEGER,
  reservedBytes: Number.MAX_SAFE_INTEGER,
  deletedBytes: Number.MAX_SAFE_INTEGER,
  calls: 999_999,
  failedCalls: 999_999,
  waiting: 8_192,
  waitMs: 9_999_999,
};

for (const poolCount of [10, 100])
  test(`two days of ${poolCount} pools take at most 2 MB, and minutes of the day before are gone`, async t => {
    const { gateway, nextMinute } = await openAt(t);
    const sizeOf = async (): Promise<number> => {
      const [row] = await gateway.engine.reader.all(
        'select page_count * page_size as size from pragma_page_count(), pragma_page_size()',
      );
      return Number(row?.['size']);
    };
    const before = await sizeOf();
    const names = Array.from({ length: poolCount }, (_, index) => `${index}`.padStart(32, 'p'));
    const share = new Map(names.map(name => [name, largest]));
    for (let minute = 0; minute < 2 * keptMinutes; minute++) {
      if (minute % (poolCount / 10) === 0) await gateway.engine.transaction(sql => addToHistory(sql, share));
      nextMinute();
    }
    const [row] = await gateway.engine.reader.all(
      'select count(*) as number, min(minute) as first, max(minute) as last from history',
    );
    const { number, first, last } = row as { number: number; first: number; last: number };
    assert.equal(number, keptMinutes / (poolCount / 10));
    assert.ok(last - first < keptMinutes);
    const size = (await sizeOf()) - before;
    assert.ok(size > 1_000_000 && size <= 2_000_000, `${size} bytes`);
  });

test('a replica that the storage does not answer keeps the capacity that another one has seen', async t => {
  const { gateway } = await openAt(t);
  for (const totalBytes of [9, undefined])
    await gateway.engine.transaction(sql =>
      addToHistory(sql, new Map([['main', { ...largest, ...quiet, totalBytes }]])),
    );
  const [minute] = await ask(gateway);
  assert.partialDeepStrictEqual(minute?.pools, [{ totalBytes: 9 }]);
});

test('minutes that a clock noted that was ahead are removed', async t => {
  const { gateway } = await openAt(t);
  const share = new Map([['main', largest]]);
  t.mock.timers.setTime(startMs + 86_400_000 * 2);
  await gateway.engine.transaction(sql => addToHistory(sql, share));
  t.mock.timers.setTime(startMs);
  await gateway.engine.transaction(sql => addToHistory(sql, share));
  assert.deepEqual(
    (await ask(gateway)).map(({ id }) => id),
    ['2026-05-01T12:00:00.000Z'],
  );
});
