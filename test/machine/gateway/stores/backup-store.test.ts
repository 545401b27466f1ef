import assert from 'node:assert/strict';
import { readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { backupStore, backupStoreCommand } from '../../../../gateway/admin/backup-store.ts';
import { openSqlite } from '../../../../gateway/stores/sqlite.ts';
import { migrate } from '../../../../gateway/tables/schema.ts';
import type { Progress } from '../../../../src/lib/words/notice.ts';
import { temporaryDirectory } from '../../../harness/gateway.ts';

test('a store is copied during writes, to a file of one moment that only its owner can read', async t => {
  const dir = temporaryDirectory(t);
  const [path, copy] = [join(dir, 'store.sqlite'), join(dir, 'copy.sqlite')];
  const engine = openSqlite(path);
  t.after(() => engine.close());
  const id = await migrate(engine);
  await engine.transaction(sql => sql.write('create table pairs (one integer, other integer)'));
  const done = new AbortController();
  const writing = (async () => {
    for (let count = 0; !done.signal.aborted; count++)
      await engine.transaction(async sql => {
        await sql.write('insert into pairs values (?, 0)', count);
        await sql.write('update pairs set other = ?', count);
      });
  })();
  for (let round = 0; round < 5; round++) {
    await backupStore(path, copy);
    using copied = new DatabaseSync(copy, { readOnly: true });
    assert.equal(copied.prepare('select id from store_identity').all()[0]?.['id'], id);
    const [pairs] = copied
      .prepare('select count(*) as number, min(other) as min, max(other) as max from pairs')
      .all();
    assert.ok(pairs?.['number'] === 0 || Number(pairs?.['max']) === Number(pairs?.['number']) - 1);
    assert.equal(pairs?.['min'], pairs?.['max']);
  }
  done.abort();
  await writing;
  assert.equal(statSync(copy).mode & 0o777, 0o600);
});

test('admin backup-store says that it waits for the copy, and then for its check', async t => {
  const path = join(temporaryDirectory(t), 'store.sqlite');
  const engine = openSqlite(path);
  t.after(() => engine.close());
  await migrate(engine);
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
  const shown: string[] = [];
  const notices = { everyMs: 10_000, show: ({ what }: Progress) => void shown.push(what), clear() {} };
  const work = backupStoreCommand.run({ from: { kind: 'sqlite', path }, to: `${path}.copy` }, { notices });
  t.mock.timers.tick(2_000);
  await work;
  assert.deepEqual(shown, [`the copy of "${path}"`, 'the check of the copy']);
});

test('a store that another process has locked is not copied, and the message says so', async t => {
  const dir = temporaryDirectory(t);
  const [path, copy] = [join(dir, 'store.sqlite'), join(dir, 'copy.sqlite')];
  using other = new DatabaseSync(path);
  other.exec('create table something (id); begin exclusive');
  await assert.rejects(backupStore(path, copy), /cannot be copied: another process has locked it, such as/);
});

test('a failed copy keeps the previous one and reports the reason', async t => {
  const dir = temporaryDirectory(t);
  const [path, copy] = [join(dir, 'store.sqlite'), join(dir, 'copy.sqlite')];
  writeFileSync(copy, 'before');
  await assert.rejects(backupStore(path, copy), /there is no store/);
  using other = new DatabaseSync(path);
  other.exec('create table something (id)');
  await assert.rejects(backupStore(path, copy), /not the store of a gateway/);
  assert.equal(statSync(copy).size, 'before'.length);
  assert.deepEqual(readdirSync(dir).sort(), ['copy.sqlite', 'store.sqlite']);
});
