import { join } from 'node:path';
import { test } from 'node:test';
import { noPostgres, sharePostgres } from '../../../harness/postgres.ts';
import { useStores } from '../../../harness/stores/store-in.ts';
import { servicesDirectory } from '../stores/services-tests.ts';

/** Runs the tests of turns on PostgreSQL, where transactions of two gateways run at the same time. */
if (noPostgres) test('no two volumes of a pool have the same turn', { skip: noPostgres });
else {
  const server = sharePostgres();
  useStores(async () => `postgres:${await (await server()).createSchema()}`);
  await import(join(servicesDirectory, 'attachments/trim-turns.test.ts'));
}
