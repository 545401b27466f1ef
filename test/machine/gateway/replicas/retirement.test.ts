import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Sql } from '../../../../gateway/store.ts';
import { requireInService, requireUndrained } from '../../../../gateway/tables/closures.ts';
import { openGateway } from '../../../harness/gateway.ts';
import { noPostgres as skip, sharePostgres } from '../../../harness/postgres.ts';

const server = sharePostgres();

const closures = [
  {
    what: 'retirement',
    letIn: (sql: Sql) => requireInService(sql, 'a', 'a.one'),
    route: 'PUT /v1/admin/clusters/a/retirement',
    body: { force: true },
    done: 'isRetired',
  },
  {
    what: 'drain',
    letIn: (sql: Sql) => requireUndrained(sql, 'main', 'a.one'),
    route: 'PUT /v1/admin/pools/main/drain',
    body: {},
    done: 'isDrained',
  },
];
for (const { what, letIn, route, body, done } of closures)
  test(`a ${what} waits for the transactions of requests that were let in before`, { skip }, async t => {
    const { createDatabase, untilWaiting } = await server();
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
    const closure = gateway
      .ask(route, { as: 'operator', body })
      .then(answer => order.push(answer.body[done] === true ? what : JSON.stringify(answer.body)));
    assert.ok(await Promise.race([untilWaiting(1, what), closure]), `the ${what} never waited`);
    left.resolve();
    await Promise.all([before, closure]);
    assert.deepEqual(order, ['request', what]);
  });
