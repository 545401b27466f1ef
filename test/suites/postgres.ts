import { openPostgres } from '../../gateway/stores/postgres.ts';
import type { PostgresServer } from '../harness/postgres.ts';
import { testMigrations } from './migrations.ts';
import { testStore, type MakeDatabase } from './store.ts';

/** Makes databases on a PostgreSQL server. */
export function databasesOf(server: () => Promise<PostgresServer>): MakeDatabase {
  return async t => {
    const urlFile = await (await server()).createDatabase();
    return {
      async open() {
        const engine = await openPostgres(urlFile);
        t.after(() => engine.close());
        return engine;
      },
    };
  };
}

/** Tests the store on a PostgreSQL server of any release; `skip` is the reason to skip. */
export function testPostgres(server: () => Promise<PostgresServer>, skip: string | false): void {
  const make = databasesOf(server);

  testStore(make, { skip });

  testMigrations(make, {
    skip,
    catalog: [
      `select table_name, column_name, data_type, is_nullable from information_schema.columns
        where table_schema = 'public'`,
      "select indexdef from pg_indexes where schemaname = 'public'",
    ],
  });
}
