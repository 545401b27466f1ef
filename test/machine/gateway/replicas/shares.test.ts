import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openPostgres } from '../../../../gateway/stores/postgres.ts';
import type { Sql } from '../../../../gateway/store.ts';
import { noPostgres as skip, sharePostgres } from '../../../harness/postgres.ts';

const server = sharePostgres();
const database = 'shared';

test(
  'two shares have two holders at once; the lock waits for both, and each share for its holder',
  { skip },
  async t => {
    const { createDatabase, untilWaiting } = await server();
    const engine = await openPostgres(await createDatabase(database));
    t.after(() => engine.close());
    const entered: string[] = [];

    /** Begins a transaction that ends after `leave`. */
    function begin(name: string, take: (sql: Sql) => Promise<void>) {
      const [inside, left] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const ended = engine.transaction(async sql => {
        await take(sql);
        await sql.all('select 1');
        entered.push(name);
        inside.resolve();
        await left.promise;
      });
      return { inside: Promise.race([inside.promise, ended]), leave: () => (left.resolve(), ended) };
    }

    const first = begin('first', sql => sql.share('pool', 'fast', 0));
    const second = begin('second', sql => sql.share('pool', 'fast', 1));
    await Promise.all([first.inside, second.inside]);
    const alone = begin('alone', sql => sql.lock('pool', 'fast'));
    const next = begin('next', sql => sql.share('pool', 'fast', 0));
    const other = begin('other', sql => sql.lock('pool', 'slow'));
    assert.ok(await untilWaiting(2, database), 'the transactions never waited');
    await other.leave();
    assert.deepEqual(entered.toSorted(), ['first', 'other', 'second']);
    await first.leave();
    await second.leave();
    await Promise.all([alone.leave(), next.leave()]);
    assert.deepEqual(entered.slice(3).toSorted(), ['alone', 'next']);
  },
);

test(
  'two transactions that share, and then lock, run again and do not wait for each other forever',
  { skip },
  async t => {
    const { createDatabase } = await server();
    const engine = await openPostgres(await createDatabase('relocked'));
    t.after(() => engine.close());
    const met = Array.from({ length: 2 }, () => Promise.withResolvers<void>());
    let runs = 0;
    const shareAndLock = (share: 0 | 1): Promise<unknown> =>
      engine.transaction(async sql => {
        runs++;
        await sql.share('pool', 'fast', share);
        await sql.all('select 1');
        met[share]?.resolve();
        await met[1 - share]?.promise;
        await sql.lock('pool', 'fast');
        return sql.all('select 1');
      });
    await Promise.all([shareAndLock(0), shareAndLock(1)]);
    assert.equal(runs, 4);
  },
);
