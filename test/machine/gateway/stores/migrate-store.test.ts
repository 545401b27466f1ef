import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { migrateStore, migrateStoreCommand } from '../../../../gateway/admin/migrate-store.ts';
import { storeSetting } from '../../../../gateway/config.ts';
import { openPostgres } from '../../../../gateway/stores/postgres.ts';
import { openSqlite } from '../../../../gateway/stores/sqlite.ts';
import { migrate } from '../../../../gateway/tables/schema.ts';
import { poll } from '../../../../src/lib/concurrency.ts';
import { createNotices, type Progress } from '../../../../src/lib/words/notice.ts';
import { exec } from '../../../../src/lib/exec.ts';
import { cli } from '../../../harness/program.ts';
import { clusters, openGateway, mounted, openMemory, temporaryDirectory } from '../../../harness/gateway.ts';
import { noPostgres as skip, sharePostgres } from '../../../harness/postgres.ts';

const { any } = clusters;
const server = sharePostgres();

/** Prepares a SQLite store with rows in most tables, without a gateway, and its storage. */
async function prepare(t: TestContext) {
  const path = join(temporaryDirectory(t), 'store.sqlite');
  const backend = await openMemory();
  const gateway = await openGateway(t, { store: path, backend });
  for (const name of ['one', 'two', 'A-B.c_d']) await gateway.create(`any.${name}`);
  await gateway.nodes.put(any, 'n1', { maxVolumes: 3 });
  const spec = { capability: mounted, readonly: false };
  await gateway.attachments.attach({ cluster: any, volumeId: 'any.one', nodeId: 'n1' }, spec);
  await gateway.snapshot('any.cut', 'any.two');
  await gateway.recovery.sweep();
  const seen = await gateway.volumes.list(any, { limit: 10 });
  await gateway.engine.close();
  return { path, backend, seen, urlFile: await (await server()).createDatabase() };
}

test('a SQLite store is copied to PostgreSQL, and a gateway continues there', { skip }, async t => {
  const { path, backend, seen, urlFile } = await prepare(t);
  const { contents, isNew } = await migrateStore(path, urlFile);
  assert.equal(isNew, true);
  const rows = new Map(contents.map(content => [content.table, content.rows]));
  assert.deepEqual(
    ['volumes', 'snapshots', 'attachments', 'nodes'].map(name => rows.get(name)),
    [3, 1, 1, 1],
  );
  const gateway = await openGateway(t, { store: `postgres:${urlFile}`, backend });
  const counted = await gateway.engine.reader.all(
    "select relname from pg_class where reltuples > 0 and relname in ('volumes', 'snapshots', 'nodes') order by 1",
  );
  const known = await gateway.engine.reader.all(
    "select distinct tablename from pg_stats where tablename in ('volumes', 'snapshots', 'nodes') order by 1",
  );
  const analyzed = ['nodes', 'snapshots', 'volumes'];
  assert.deepEqual(
    [counted.map(row => row['relname']), known.map(row => row['tablename'])],
    [analyzed, analyzed],
  );
  assert.deepEqual(await gateway.volumes.list(any, { limit: 10 }), seen);
  await gateway.attachments.detach({ cluster: any, volumeId: 'any.one', nodeId: 'n1' });
  await gateway.volumes.delete(any, 'any.one');
});

test('a gateway on a copied file is refused, unless a flag says to use the file again', { skip }, async t => {
  const { path, urlFile } = await prepare(t);
  await migrateStore(path, urlFile);
  const engine = openSqlite(path);
  t.after(() => engine.close());
  await assert.rejects(
    migrate(engine),
    /was copied to another by .* or use this one again with --adopt-store$/,
  );
  const id = await migrate(engine, { ifCopied: 'adopt' });
  assert.equal(await migrate(engine), id);
});

test('a copy can be repeated until a gateway has worked on it', { skip }, async t => {
  const { path, backend, urlFile } = await prepare(t);
  const first = await migrateStore(path, urlFile);
  assert.deepEqual(await migrateStore(path, urlFile), { ...first, isNew: false });
  const gateway = await openGateway(t, { store: `postgres:${urlFile}`, backend });
  await gateway.create('any.new');
  await assert.rejects(
    migrateStore(path, urlFile),
    /already holds a copy of this store, which has changed since; use an empty database$/,
  );
});

test('the next attempt marks a file that was not marked when it was copied', { skip }, async t => {
  const { path, backend, urlFile } = await prepare(t);
  await migrateStore(path, urlFile);
  const engine = openSqlite(path);
  t.after(() => engine.close());
  // The state of the file after the command died between its copy and its mark.
  await migrate(engine, { ifCopied: 'adopt' });
  await engine.close();
  const gateway = await openGateway(t, { store: `postgres:${urlFile}`, backend });
  await gateway.create('any.new');
  await gateway.recovery.sweep();
  await assert.rejects(
    migrateStore(path, urlFile),
    /already holds a copy of this store, which has changed since; use an empty database$/,
  );
  const again = openSqlite(path);
  t.after(() => again.close());
  await assert.rejects(migrate(again), /was copied to another by/);
});

test('another attempt does not mark a file that was adopted again and changed since', { skip }, async t => {
  const { path, backend, urlFile } = await prepare(t);
  await migrateStore(path, urlFile);
  const engine = openSqlite(path);
  await migrate(engine, { ifCopied: 'adopt' });
  await engine.close();
  const gateway = await openGateway(t, { store: path, backend });
  await gateway.create('any.new');
  await gateway.recovery.sweep();
  await gateway.engine.close();
  await assert.rejects(
    migrateStore(path, urlFile),
    /already holds a copy of this store, which has changed since; use an empty database$/,
  );
  const again = openSqlite(path);
  t.after(() => again.close());
  assert.equal(typeof (await migrate(again)), 'string');
});

test('an interrupted copy is repeated from the start', { skip }, async t => {
  const { path, urlFile } = await prepare(t);
  const { query } = await server();
  const database = /(\w+)\.url$/.exec(urlFile)?.[1];
  const empty = await (await server()).createDatabase();
  await migrateStore(path, empty);
  const [row] = await query('select id from store_identity', /(\w+)\.url$/.exec(empty)?.[1]);
  await query(`create table store_identity (id text not null)`, database);
  await query(`insert into store_identity values ('${String(row?.['id'])}')`, database);
  assert.equal((await migrateStore(path, urlFile)).isNew, true);
});

test('a database with another store is refused', { skip }, async t => {
  const { path, urlFile } = await prepare(t);
  await openGateway(t, { store: `postgres:${urlFile}` });
  await assert.rejects(migrateStore(path, urlFile), /holds another store; use an empty database$/);
});

test('a file that is no SQLite file is not taken for a store in use', async t => {
  const path = join(temporaryDirectory(t), 'store.sqlite');
  writeFileSync(path, 'nonsense '.repeat(100));
  await assert.rejects(migrateStore(path, '/none'), /^Error: the store "\S+" is not a SQLite file$/);
});

test('the command says that it waits for a database that others have locked', { skip }, async t => {
  const { path, urlFile } = await prepare(t);
  const engine = await openPostgres(urlFile);
  t.after(() => engine.close());
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const holding = engine.transaction(async sql => {
    await sql.lock('schema', 'version');
    await sql.now();
    await released;
  });
  const lines: string[] = [];
  const notices = createNotices({ write: line => void lines.push(line) });
  const stores = { from: storeSetting(path), to: storeSetting(`postgres:${urlFile}`) };
  const running = migrateStoreCommand.run(stores, { out: () => {}, notices });
  const isSaid = () =>
    lines.some(line => line.startsWith(`waiting for the database of "${urlFile}" (`)) || undefined;
  assert.ok(await poll(isSaid, { everyMs: 20, timeoutMs: 60_000 }), lines.join(''));
  release();
  await holding;
  assert.equal(await running, 0);
});

test('the progress of a copy counts the rows of each part', { skip }, async t => {
  const { path, urlFile } = await prepare(t);
  const last = new Map<string, Progress>();
  const { contents } = await migrateStore(path, urlFile, progress => void last.set(progress.what, progress));
  const total = contents.reduce((sum, { rows }) => sum + rows, 0);
  for (const what of [`the rows of "${path}"`, 'the copy', 'the comparison of the copy'])
    assert.deepEqual(last.get(what), { what, done: total, total, unit: 'rows' });
});

test('a store of a running gateway is refused', { skip }, async t => {
  const { path, urlFile } = await prepare(t);
  const running = openSqlite(path);
  t.after(() => running.close());
  await migrate(running);
  await assert.rejects(migrateStore(path, urlFile), /is in use: stop its gateways first$/);
});

test('fairlead admin migrate-store reports the copied rows', { skip }, async t => {
  const { path, urlFile } = await prepare(t);
  const argv = [cli, 'admin', 'migrate-store', '--from', path, '--to', `postgres:${urlFile}`];
  const { status, stdout } = await exec(process.execPath, argv, { timeoutMs: 60_000 });
  assert.equal(status, 0);
  assert.match(stdout, /^volumes 3 [0-9a-f]{64}\n[^]*copied: counts and hashes are equal\n$/);
});
