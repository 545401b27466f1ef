import { globSync } from 'node:fs';
import { join } from 'node:path';

/** The directory of the services' own tests. */
export const servicesDirectory = join(import.meta.dirname, '../../../unit/gateway');

/** The test that sets the process's clock, which SQLite uses, but a server does not. */
const ofSqlite = 'operations/clock.test.ts';

/** The tests that inject faults, and all other tests that the services must pass on any store. */
export const faultTests = [
  'model/model.test.ts',
  'sharing/model/model.test.ts',
  'recovery.test.ts',
  'operations/late-work.test.ts',
];
const others = [
  '{admin,attachments,operations,sharing,snapshots,volumes}/*.test.ts',
  'callers/isolation.test.ts',
  'pools/{quotas,usable-pools}.test.ts',
  'tables/{history,limits}.test.ts',
];
export const otherTests = globSync(others, { cwd: servicesDirectory })
  .filter(file => ![ofSqlite, ...faultTests].includes(file))
  .sort();
