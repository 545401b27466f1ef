import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openSqlite } from '../../../../gateway/stores/sqlite.ts';
import { testStore } from '../../../suites/store.ts';
import { temporaryDirectory } from '../../../harness/gateway-harness.ts';
import { isProblemThat } from '../../../harness/gateway-problems.ts';

testStore(async t => {
  const path = join(temporaryDirectory(t), 'store.sqlite');
  return {
    async open() {
      const engine = openSqlite(path);
      t.after(() => engine.close());
      return engine;
    },
  };
});

test('a full disk is UNAVAILABLE, leaves no half rows, and the store goes on once there is space', async t => {
  const engine = openSqlite(join(temporaryDirectory(t), 'store.sqlite'));
  t.after(() => engine.close());
  await engine.transaction(sql => sql.run('create table items (id integer primary key, text text)'));
  await engine.transaction(sql => sql.run('pragma max_page_count = 8'));
  const fill = (id: number): Promise<number> =>
    engine.transaction(async sql => {
      await sql.run('insert into items values (?, ?)', id, 'small');
      return sql.run('insert into items values (?, ?)', id + 1, 'x'.repeat(100_000));
    });
  const outcomes = await Promise.allSettled([fill(1), fill(3)]);
  for (const outcome of outcomes) {
    assert.equal(outcome.status, 'rejected');
    assert.ok(isProblemThat('UNAVAILABLE', /database or disk is full/)(outcome.reason));
  }
  assert.deepEqual(await engine.reader.all('select * from items'), []);
  await engine.transaction(sql => sql.run('pragma max_page_count = 1000'));
  await fill(5);
  assert.equal((await engine.reader.all('select * from items')).length, 2);
});

const unusable = [
  { name: 'a directory that is not there', path: (dir: string) => join(dir, 'no', 'store.sqlite') },
  { name: 'a directory', path: (dir: string) => dir },
  {
    name: 'a file that is no database',
    path: (dir: string) => {
      writeFileSync(join(dir, 'other'), 'x'.repeat(8_192));
      return join(dir, 'other');
    },
  },
];
for (const { name, path } of unusable) {
  test(`${name} cannot be opened, and one line says so`, t => {
    const file = path(temporaryDirectory(t));
    assert.throws(
      () => openSqlite(file),
      (error: Error) => error.message.startsWith(`cannot use the store "${file}": `),
    );
  });
}
