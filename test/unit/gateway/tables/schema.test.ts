import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { migrate } from '../../../../gateway/tables/schema.ts';
import { openSqlite } from '../../../../gateway/stores/sqlite.ts';
import { volumeTable } from '../../../../gateway/tables/volumes.ts';
import { emptyVolumeRecord } from '../../../../gateway/volumes/record.ts';
import { temporaryDirectory } from '../../../harness/gateway-harness.ts';

test('the tables are made once, and found by the next start', async t => {
  const engine = openSqlite(join(temporaryDirectory(t), 'store.sqlite'));
  t.after(() => engine.close());
  await migrate(engine);
  await engine.transaction(sql =>
    sql.run("insert into nodes (cluster, node_id, spec) values ('a', 'n1', '{}')"),
  );
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

test('the store of an older release gets the columns and tables that are new, and keeps its volumes', async t => {
  const engine = openSqlite(join(temporaryDirectory(t), 'store.sqlite'));
  t.after(() => engine.close());
  await migrate(engine);
  const record = emptyVolumeRecord({
    id: 'a.pvc-1',
    cluster: 'a',
    name: 'pvc-1',
    pool: 'main',
    spec: { capabilities: [] },
    source: undefined,
  });
  await engine.transaction(async sql => {
    await volumeTable.insert(sql, record);
    for (const name of ['volumes', 'snapshots']) await sql.run(`alter table ${name} drop column nonce`);
    for (const name of ['clock', 'audit_log']) await sql.run(`drop table ${name}`);
    await sql.run('drop index reservations_by_cluster');
    for (const name of ['volumes', 'snapshots'])
      await sql.run(`alter table reservations drop column ${name}`);
    await sql.run('update schema_version set version = 1');
  });
  await migrate(engine);
  assert.deepEqual(await volumeTable.find(engine.reader, record), { ...record, nonce: '' });
  assert.deepEqual(await engine.reader.all('select * from clock'), []);
});
