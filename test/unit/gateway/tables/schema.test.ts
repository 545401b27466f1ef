import { join } from 'node:path';
import { openSqlite } from '../../../../gateway/stores/sqlite.ts';
import { temporaryDirectory } from '../../../harness/gateway.ts';
import { testMigrations } from '../../../suites/migrations.ts';

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
