import { noPostgres, sharePostgres } from '../../../harness/postgres.ts';
import { testPostgres } from '../../../suites/postgres.ts';

testPostgres(sharePostgres(), noPostgres);
