import { openPostgres } from '../../../../gateway/stores/postgres.ts';
import { noPostgres as skip, sharePostgres } from '../../../harness/postgres.ts';
import { testMigrations } from '../../../suites/migrations.ts';
import { testStore, type MakeDatabase } from '../../../suites/store.ts';

const server = sharePostgres();

const make: MakeDatabase = async t => {
  const urlFile = await (await server()).createDatabase();
  return {
    async open() {
      const engine = await openPostgres(urlFile);
      t.after(() => engine.close());
      return engine;
    },
  };
};

testStore(make, { skip });

testMigrations(make, {
  skip,
  catalog: [
    `select table_name, column_name, data_type, is_nullable from information_schema.columns
      where table_schema = 'public'`,
    "select indexdef from pg_indexes where schemaname = 'public'",
  ],
});
