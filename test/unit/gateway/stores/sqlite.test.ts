import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import { copyFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Problem } from '../../../../src/api/problem.ts';
import { openSqlite } from '../../../../gateway/stores/sqlite.ts';
import { testStore } from '../../../suites/store.ts';
import { temporaryDirectory } from '../../../harness/gateway.ts';

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

test('a transaction belongs to its caller, even if another began the shared commit', async t => {
  const engine = openSqlite(join(temporaryDirectory(t), 'store.sqlite'));
  t.after(() => engine.close());
  const asker = new AsyncLocalStorage<string>();
  const seen = ['a', 'b', 'c'].map(name =>
    asker.run(name, () => engine.transaction(async () => asker.getStore())),
  );
  assert.deepEqual(await Promise.all(seen), ['a', 'b', 'c']);
});

test('a full disk is UNAVAILABLE, leaves no partial rows, and the store continues once there is space', async t => {
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
    assert.equal((outcome.reason as Problem).code, 'UNAVAILABLE');
    assert.match((outcome.reason as Problem).detail, /database or disk is full/);
  }
  assert.deepEqual(await engine.reader.all('select * from items'), []);
  await engine.transaction(sql => sql.run('pragma max_page_count = 1000'));
  await fill(5);
  assert.equal((await engine.reader.all('select * from items')).length, 2);
});

for (const what of ['transactions', 'reads'] as const)
  test(`loops that await only ${what} let timers run`, async t => {
    const engine = openSqlite(join(temporaryDirectory(t), 'store.sqlite'));
    t.after(() => engine.close());
    const ask = (): Promise<unknown> =>
      what === 'reads' ? engine.reader.all('select 1') : engine.transaction(sql => sql.run('select 1'));
    const ticks: true[] = [];
    const loop = async (): Promise<void> => {
      for (let round = 0; round < 20_000 && ticks.length === 0; round++) {
        // Before that, the event loop may have run already.
        if (round === 10) setTimeout(() => ticks.push(true), 1);
        await ask();
      }
    };
    await Promise.all(Array.from({ length: 8 }, loop));
    assert.ok(ticks.length > 0);
  });

test('only the owner may read the files of a store, even if others could before', async t => {
  const path = join(temporaryDirectory(t), 'store.sqlite');
  const files = ['', '-wal', '-shm'].map(suffix => path + suffix);
  const modes = (): readonly number[] => files.map(file => statSync(file).mode & 0o777);
  writeFileSync(path, '', { mode: 0o666 });
  const engine = openSqlite(path);
  t.after(() => engine.close());
  assert.deepEqual(modes(), [0o600, 0o600, 0o600]);
});

for (const { how, lose } of [
  { how: 'was moved away', lose: (path: string) => renameSync(path, `${path}.old`) },
  { how: 'was replaced by a copy', lose: replaceByCopy },
  { how: 'lost its log', lose: (path: string) => renameSync(`${path}-wal`, `${path}-wal.old`) },
])
  test(`a store that ${how} is UNAVAILABLE, and nothing more is written to it`, async t => {
    const path = join(temporaryDirectory(t), 'store.sqlite');
    const engine = openSqlite(path);
    t.after(() => engine.close());
    await engine.transaction(sql => sql.run('create table items (id integer primary key)'));
    const isGone = { code: 'UNAVAILABLE', detail: /was removed, moved or replaced/ };
    lose(path);
    let ran = false;
    const write = engine.transaction(async () => (ran = true));
    await assert.rejects(write, isGone);
    assert.equal(ran, false);
    await assert.rejects(engine.reader.all('select * from items'), isGone);
  });

test('a commit while the store is moved away is not reported as durable', async t => {
  const path = join(temporaryDirectory(t), 'store.sqlite');
  const engine = openSqlite(path);
  t.after(() => engine.close());
  const write = engine.transaction(async sql => {
    await sql.run('create table items (id integer primary key)');
    renameSync(path, `${path}.old`);
  });
  await assert.rejects(write, { code: 'UNAVAILABLE', detail: /was removed, moved or replaced/ });
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

function replaceByCopy(path: string): void {
  copyFileSync(path, `${path}.copy`);
  renameSync(`${path}.copy`, path);
}
