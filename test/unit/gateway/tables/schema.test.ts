import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { findSnapshot } from '../../../../gateway/tables/snapshots.ts';
import { findVolume } from '../../../../gateway/tables/volumes.ts';
import { migrate } from '../../../../gateway/tables/schema.ts';
import { openSqlite } from '../../../../gateway/stores/sqlite.ts';
import { temporaryDirectory } from '../../../harness/gateway-harness.ts';

test('the tables are made once, and found by the next start', async t => {
  const engine = openSqlite(join(temporaryDirectory(t), 'store.sqlite'));
  t.after(() => engine.close());
  await migrate(engine);
  await engine.transaction(sql => sql.run("insert into nodes (cluster, id, spec) values ('a', 'n1', '{}')"));
  await migrate(engine);
  assert.equal((await engine.reader.all('select * from nodes')).length, 1);
});

test('two gateways that start at once on a new store both find the tables', async t => {
  const path = join(temporaryDirectory(t), 'store.sqlite');
  const engines = [openSqlite(path), openSqlite(path)];
  t.after(() => Promise.all(engines.map(engine => engine.close())));
  await Promise.all(engines.map(migrate));
  for (const engine of engines) assert.deepEqual(await engine.reader.all('select * from volumes'), []);
});

test('what an earlier gateway has recorded is in no place: it is reached from everywhere', async t => {
  const engine = openSqlite(join(temporaryDirectory(t), 'store.sqlite'));
  t.after(() => engine.close());
  await migrate(engine);
  await engine.transaction(async sql => {
    await sql.run('drop index volumes_by_place');
    for (const table of ['volumes', 'snapshots']) await sql.run(`alter table ${table} drop column place`);
    await sql.run('update schema_version set version = 3');
    await sql.run(`insert into volumes (id, cluster, name, state, spec, size_bytes, context, created_at)
      values ('a.one', 'a', 'one', 'ready', '{}', 1, '{}', 0)`);
    await sql.run(`insert into snapshots
      (id, cluster, name, volume_id, member, state, parameters, size_bytes, created_at)
      values ('a.cut', 'a', 'cut', 'a.one', 0, 'ready', '{}', 1, 0)`);
  });
  await migrate(engine);
  const volume = await findVolume(engine.reader, 'a.one');
  const snapshot = await findSnapshot(engine.reader, 'a.cut');
  assert.deepEqual([volume?.state, volume?.place], ['ready', undefined]);
  assert.deepEqual([snapshot?.state, snapshot?.place], ['ready', undefined]);
});

test('a store that a newer gateway has changed is refused with one line', async t => {
  const engine = openSqlite(join(temporaryDirectory(t), 'store.sqlite'));
  t.after(() => engine.close());
  await migrate(engine);
  await engine.transaction(sql => sql.run('update schema_version set version = 99'));
  await assert.rejects(
    migrate(engine),
    /^Error: the store has schema version 99, but this gateway knows none after \d+$/,
  );
});
