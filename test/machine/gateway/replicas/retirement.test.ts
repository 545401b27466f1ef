import assert from 'node:assert/strict';
import { test } from 'node:test';
import { requireInService } from '../../../../gateway/tables/closures.ts';
import { poll } from '../../../../src/lib/concurrency.ts';
import { openGateway } from '../../../harness/gateway/gateway.ts';
import { noPostgres as skip, sharePostgres } from '../../../harness/postgres.ts';

const server = sharePostgres();

test('a retirement waits for the transactions of requests that were let in before', { skip }, async t => {
  const { createDatabase, query } = await server();
  const database = 'retired';
  const gateway = await openGateway(t, { store: `postgres:${await createDatabase(database)}` });
  const [entered, left] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const order: string[] = [];
  const before = gateway.engine
    .transaction(async sql => {
      await requireInService(sql, 'a', 'a.one');
      entered.resolve();
      await left.promise;
    })
    .then(() => order.push('request'));
  await entered.promise;
  const retirement = gateway
    .ask('PUT /v1/admin/clusters/a/retirement', { as: 'operator', body: { force: true } })
    .then(({ body }) => order.push(body['isRetired'] === true ? 'retirement' : JSON.stringify(body)));
  const waiting =
    "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()";
  const isWaiting = async () => order.length > 0 || (await query(waiting, database)).length > 0 || undefined;
  assert.ok(await poll(isWaiting, { everyMs: 20, timeoutMs: 4_000 }), 'the retirement never waited');
  left.resolve();
  await Promise.all([before, retirement]);
  assert.deepEqual(order, ['request', 'retirement']);
});
