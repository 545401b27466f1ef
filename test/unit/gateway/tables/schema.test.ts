import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { migrate } from '../../../../gateway/tables/schema.ts';
import { openSqlite } from '../../../../gateway/stores/sqlite.ts';
import { volumeTable } from '../../../../gateway/tables/volumes.ts';
import { temporaryDirectory } from '../../../harness/gateway-harness.ts';
import { openOld, testMigrations } from '../../../suites/migrations.ts';

testMigrations(
  async t => {
    const path = join(temporaryDirectory(t), 'store.sqlite');
    return {
      async open() {
        const engine = openSqlite(path);
        t.after(() => engine.close());
        return engine;
      },
    };
  },
  {
    catalog: [
      `select tables.name, columns.name as of, columns.type, columns."notnull", columns.pk
        from sqlite_master as tables, pragma_table_info(tables.name) as columns where tables.type = 'table'`,
      "select sql from sqlite_master where type = 'index' and sql is not null",
    ],
  },
);

test('volumes of the first release have an empty nonce', async t => {
  const engine = openSqlite(join(temporaryDirectory(t), 'store.sqlite'));
  t.after(() => engine.close());
  await openOld(engine, 1);
  await engine.transaction(sql =>
    sql.run(`insert into volumes (id, cluster, name, pool, state, spec, size_bytes, reserved_bytes, context,
        created_at_ms, mutable_parameters, node_expansion_required, used_raw)
      values ('a.pvc-1', 'a', 'pvc-1', 'main', 'ready', '{"capabilities":[]}', 1, 1, '{}', 1, '{}', 0, 0)`),
  );
  await migrate(engine);
  const volume = await volumeTable.find(engine.reader, { id: 'a.pvc-1' });
  assert.deepEqual([volume?.nonce, volume?.sizeBytes], ['', 1]);
});
