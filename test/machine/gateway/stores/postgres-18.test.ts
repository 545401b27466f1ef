import { sharePostgres } from '../../../harness/postgres.ts';
import { fetchPostgres18 } from '../../../harness/fetched/postgres-18.ts';
import { testPostgres } from '../../../suites/postgres.ts';

/** The engine is tested on Debian's release and on the newest one. */
const { programs, skip } = fetchPostgres18();
testPostgres(sharePostgres({ programs }), skip);
