import { globSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { noPostgres, sharePostgres } from '../../../harness/postgres.ts';
import { isFull, sample } from '../../../harness/sample.ts';
import { useStores } from '../../../harness/stores/store-in.ts';

/** Of the services' tests these set the clock of the process, which is SQLite's. */
const ofSqlite = ['operations/clock.test.ts', 'volumes/soft-deleted.test.ts'];
const always = ['model/model.test.ts', 'operations/recovery.test.ts', 'operations/late-work.test.ts'];
const directory = join(import.meta.dirname, '../../../unit/gateway');
const others = globSync('{admin,attachments,operations,snapshots,tenancy,volumes}/*.test.ts', {
  cwd: directory,
})
  .filter(file => ![...ofSqlite, ...always].includes(file))
  .sort();

/** The services' own tests, with a database for each store that they make. */
if (noPostgres) test('the services keep their promises on PostgreSQL', { skip: noPostgres });
else {
  const server = sharePostgres();
  useStores(async () => `postgres:${await (await server()).createDatabase()}`);
  if (!isFull) process.env['MODEL_RUNS'] ??= '6';
  for (const file of [...always, ...sample('files', others, 2)]) await import(join(directory, file));
}
