import { join } from 'node:path';
import { test } from 'node:test';
import { noPostgres, sharePostgres } from '../../../harness/postgres.ts';
import { isFull, sample } from '../../../harness/sample.ts';
import { useStores } from '../../../harness/stores/store-in.ts';
import { faultTests, otherTests, servicesDirectory } from './services-tests.ts';

/** Runs the services' own tests, with a schema for each store that they make. */
if (noPostgres) test('the services keep their promises on PostgreSQL', { skip: noPostgres });
else {
  const server = sharePostgres();
  useStores(async () => `postgres:${await (await server()).createSchema()}`);
  if (!isFull) process.env['MODEL_RUNS'] ??= '6';
  for (const file of [...sample('faults', faultTests, 2), ...sample('files', otherTests, 2)])
    await import(join(servicesDirectory, file));
}
