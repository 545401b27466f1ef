import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Sql } from '../../../../gateway/store.ts';
import { requireInService, requireUndrained } from '../../../../gateway/tables/closures.ts';
import { poll } from '../../../../src/lib/concurrency.ts';
import { openGateway } from '../../../harness/gateway/gateway.ts';
import { noPostgres as skip, sharePostgres } from '../../../harness/postgres.ts';

const server = sharePostgres();

const closures = [
  {
    what: 'retirement',
    letIn: (sql: Sql) => requireInService(sql, 'a', 'a.one'),
    route: 'PUT /v1/admin/clusters/a/retirement',
    done: 'isRetired',
  },
  {
    what: 'drain',
    letIn: (sql: Sql) => requireUndrained(sql, 'main', 'a.one'),
    route: 'PUT /v1/admin/pools/main/drain',
    done: 'isDrained',
  },
];
for (const { what, letIn, route, done } of closures)
  test(`a ${what} waits for the transactions of requests that were let in before`, { skip }, async t => {
    const { createDatabase, query } = await server();
    const gateway = await openGateway(t, { store: `postgres:${await createDatabase(what)}` });
    const [entered, left] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const order: string[] = [];
    const before = gateway.engine
      .transaction(async sql => {
        await letIn(sql);
        entered.resolve();
        await left.promise;
      })
      .then(() => order.push('request'));
    await entered.promise;
    const body = what === 'retirement' ? { force: true } : {};
    const closure = gateway
      .ask(route, { as: 'operator', body })
      .then(answer => order.push(answer.body[done] === true ? what : JSON.stringify(answer.body)));
    const waiting =
      "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()";
    const isWaiting = async () => order.length > 0 || (await query(waiting, what)).length > 0 || undefined;
    assert.ok(await poll(isWaiting, { everyMs: 20, timeoutMs: 4_000 }), `the ${what} never waited`);
    left.resolve();
    await Promise.all([before, closure]);
    assert.deepEqual(order, ['request', what]);
  });
