import { test } from 'node:test';
import { noPostgres, sharePostgres } from '../../../harness/postgres.ts';
import { useStores } from '../../../harness/stores/store-in.ts';

/** Runs the tests of killed gateways and of replicas, with a database for each store that they make. */
if (noPostgres) test('gateways that are killed lose and double nothing on PostgreSQL', { skip: noPostgres });
else {
  const server = sharePostgres();
  useStores(async () => `postgres:${await (await server()).createDatabase()}`);
  await import('../operations/crash.test.ts');
  await import('../operations/replicas.test.ts');
}
