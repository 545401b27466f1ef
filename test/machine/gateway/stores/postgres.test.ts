import { describe } from 'node:test';
import { fetchPostgres18 } from '../../../harness/fetched/postgres-18.ts';
import { noPostgres, sharePostgres } from '../../../harness/postgres.ts';
import { sample } from '../../../harness/sample.ts';
import { testPostgres } from '../../../suites/postgres.ts';

/** The releases that the engine is tested on: Debian's, and the newest one, which is fetched. */
const releases = [
  { name: "Debian's PostgreSQL", find: () => ({ programs: undefined, skip: noPostgres }) },
  { name: 'PostgreSQL 18', find: fetchPostgres18 },
];

for (const { name, find } of sample('releases', releases, 1)) {
  const { programs, skip } = find();
  const server = sharePostgres({ programs });
  void describe(name, () => testPostgres(server, skip));
}
