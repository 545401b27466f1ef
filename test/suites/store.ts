import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { shareCount, type Engine, type Reader, type Sql } from '../../gateway/store.ts';
import { Problem } from '../../src/api/problem.ts';

/** A database that is empty at first. Each `open` opens another engine on it; all close with the test. */
type Database = { open(): Promise<Engine> };

export type MakeDatabase = (t: TestContext) => Promise<Database>;

/** Tests the contract of a store's engine; `skip` is the reason to skip. */
export function testStore(
  make: MakeDatabase,
  { skip = false }: { readonly skip?: string | false } = {},
): void {
  const prepare = async (t: TestContext): Promise<{ database: Database; engine: Engine }> => {
    const database = await make(t);
    const engine = await database.open();
    await engine.transaction(sql =>
      sql.run('create table items (id text not null primary key, amount bigint, note text)'),
    );
    return { database, engine };
  };
  test(
    'a row is read back as it was written, and run returns the number of changed rows',
    { skip },
    async t => {
      const { engine } = await prepare(t);
      const row = { id: 'ä "quoted"; --', amount: Number.MAX_SAFE_INTEGER, note: null };
      await engine.transaction(sql =>
        sql.run('insert into items (id, amount, note) values (?, ?, ?)', row.id, row.amount, row.note),
      );
      const [found] = await engine.reader.all('select * from items');
      assert.deepEqual({ ...found }, row);
      assert.equal(await engine.transaction(sql => sql.run('update items set amount = 1')), 1);
      assert.equal(await engine.transaction(sql => sql.run('delete from items where id = ?', 'none')), 0);
    },
  );

  test('a transaction that throws leaves nothing and passes the error on', { skip }, async t => {
    const { engine } = await prepare(t);
    const reason = new Error('changed my mind');
    const work = engine.transaction(async sql => {
      await sql.run("insert into items (id) values ('half')");
      throw reason;
    });
    await assert.rejects(work, error => error === reason);
    assert.deepEqual(await ids(engine), []);
  });

  test(
    'a required statement that changes no row fails its transaction, and nothing stays',
    { skip },
    async t => {
      const { engine } = await prepare(t);
      await put(engine, 'one');
      const change = (id: string): Promise<void> =>
        engine.transaction(async sql => {
          await sql.write("insert into items (id) values ('half')");
          await sql.require(() => new Problem('ABORTED', id), 'update items set amount = 2 where id = ?', id);
        });
      await assert.rejects(change('none'), { code: 'ABORTED' });
      assert.deepEqual(await ids(engine), ['one']);
      await change('one');
      assert.deepEqual(await ids(engine), ['half', 'one']);
    },
  );

  test(
    'many concurrent transactions leave their rows, and the failing ones leave none',
    { skip },
    async t => {
      const { engine } = await prepare(t);
      const all = await Promise.allSettled(
        Array.from({ length: 20 }, (_, index) =>
          engine.transaction(async sql => {
            await sql.run('insert into items (id) values (?)', `item-${String(index).padStart(2, '0')}`);
            if (index % 3 === 0) throw new Error(`refused ${index}`);
            return index;
          }),
        ),
      );
      const kept = all.flatMap(outcome => (outcome.status === 'fulfilled' ? [outcome.value] : []));
      assert.equal(kept.length, 13);
      assert.deepEqual(
        await ids(engine),
        kept.map(index => `item-${String(index).padStart(2, '0')}`),
      );
    },
  );

  test('a statement that breaks a rule of the tables fails only its own transaction', { skip }, async t => {
    const { engine } = await prepare(t);
    await put(engine, 'one');
    const [twice, other] = await Promise.allSettled([put(engine, 'one'), put(engine, 'two')]);
    assert.equal(twice.status, 'rejected');
    assert.equal(other.status, 'fulfilled');
    assert.deepEqual(await ids(engine), ['one', 'two']);
  });

  test('uncommitted rows are visible only to their own transaction', { skip }, async t => {
    const { engine } = await prepare(t);
    await engine.transaction(async sql => {
      await sql.run("insert into items (id) values ('new')");
      assert.equal((await sql.all('select id from items')).length, 1);
      assert.deepEqual(await ids(engine), []);
    });
    assert.deepEqual(await ids(engine), ['new']);
  });

  test('concurrent transactions that lock, read and then write lose no update', { skip }, async t => {
    const { database, engine } = await prepare(t);
    const second = await database.open();
    await put(engine, 'counter', 0);
    await Promise.all(Array.from({ length: 50 }, (_, index) => increment(index % 2 ? engine : second)));
    assert.equal(await readAmount(engine.reader), 50);
  });

  test('transactions that share, read, then lock and write lose no update', { skip }, async t => {
    const { database, engine } = await prepare(t);
    const second = await database.open();
    await put(engine, 'counter', 0);
    const increments = Array.from({ length: 20 }, (_, index) =>
      (index % 2 ? engine : second).transaction(async sql => {
        await sql.share('pool', 'counter', index % shareCount);
        await readAmount(sql);
        await sql.lock('pool', 'counter');
        return addOne(sql);
      }),
    );
    await Promise.all(increments);
    assert.equal(await readAmount(engine.reader), 20);
  });

  test('a row that one engine has committed is read by another one', { skip }, async t => {
    const { database, engine } = await prepare(t);
    const second = await database.open();
    await put(engine, 'one');
    assert.deepEqual(await ids(second), ['one']);
    await put(second, 'two');
    assert.deepEqual(await ids(engine), ['one', 'two']);
  });

  test('a committed row is still there after the engine was closed and opened again', { skip }, async t => {
    const { database, engine } = await prepare(t);
    await put(engine, 'kept');
    await engine.close();
    assert.deepEqual(await ids(await database.open()), ['kept']);
  });

  test('a closed engine fails and does not hang', { skip }, async t => {
    const { engine } = await prepare(t);
    await engine.close();
    await assert.rejects(put(engine, 'late'));
    await assert.rejects(engine.reader.all('select 1'));
  });
}

function put(engine: Engine, id: string, amount = 1): Promise<number> {
  return engine.transaction(sql => sql.run('insert into items (id, amount) values (?, ?)', id, amount));
}

function increment(engine: Engine): Promise<number> {
  return engine.transaction(async sql => {
    await sql.lock('item', 'counter');
    return addOne(sql);
  });
}

async function addOne(sql: Sql): Promise<number> {
  return sql.run("update items set amount = ? where id = 'counter'", (await readAmount(sql)) + 1);
}

async function readAmount(sql: Reader): Promise<number> {
  const [row] = await sql.all("select amount from items where id = 'counter'");
  return Number(row?.amount);
}

async function ids(engine: Engine): Promise<readonly unknown[]> {
  return (await engine.reader.all('select id from items order by id')).map(({ id }) => id);
}
