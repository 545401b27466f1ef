import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { openPostgres } from '../../../../gateway/stores/postgres.ts';
import { migrate } from '../../../../gateway/tables/schema.ts';
import { noPostgres as skip, sharePostgres } from '../../../harness/postgres.ts';
import { isFull, sample } from '../../../harness/sample.ts';
import { useStores } from '../../../harness/stores/store-in.ts';
import { databasesOf } from '../../../suites/postgres.ts';
import { testStore } from '../../../suites/store.ts';
import { faultTests, otherTests, servicesDirectory } from './services-tests.ts';
import { hinderStatements } from './strict-driver.ts';

const chance = 0.02;

/**
 * Runs the tests of the store and the services on an engine that only has PostgreSQL's protocol in common with
 * PostgreSQL.
 */
if (skip) test('any statement may fail with 40001', { skip });
else {
  const server = sharePostgres();
  const seen = hinderStatements(chance);
  useStores(async () => `postgres:${await (await server()).createSchema()}`);
  testStore(databasesOf(server));

  test('all columns are text or 64-bit integers', async () => {
    const { createDatabase, query } = await server();
    const engine = await openPostgres(await createDatabase('columns'));
    await migrate(engine);
    await engine.close();
    const columns = "from information_schema.columns where table_schema = 'public'";
    const types = await query(`select distinct data_type ${columns} order by data_type`, 'columns');
    assert.deepEqual(
      types.map(row => row['data_type']),
      ['bigint', 'text'],
    );
  });

  if (!isFull) process.env['MODEL_RUNS'] ??= '4';
  for (const file of [...sample('faults', faultTests, 1), ...sample('files', otherTests, 2)])
    await import(join(servicesDirectory, file));

  after(() => {
    process.stdout.write(`${seen.failures} of ${seen.statements} statements failed with 40001\n`);
    assert.ok(seen.failures > 0);
    assert.deepEqual([...seen.foreign], []);
  });
}
