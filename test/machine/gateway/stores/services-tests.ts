import { globSync } from 'node:fs';
import { join } from 'node:path';

/** Where the services' own tests are. */
export const servicesDirectory = join(import.meta.dirname, '../../../unit/gateway');

/** Of them this sets the clock of the process, which is SQLite's and not that of a server. */
const ofSqlite = 'operations/clock.test.ts';

/** Those that play what goes wrong, and all others that any store's services must pass. */
export const faultTests = [
  'model/model.test.ts',
  'tenancy/model/model.test.ts',
  'operations/recovery.test.ts',
  'operations/late-work.test.ts',
];
const folders = '{admin,attachments,operations,snapshots,tenancy,volumes}';
export const otherTests = globSync(`${folders}/*.test.ts`, { cwd: servicesDirectory })
  .filter(file => ![ofSqlite, ...faultTests].includes(file))
  .sort();
