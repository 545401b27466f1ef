import type { Engine, Sql } from '../store.ts';
import { attachmentTable } from './attachments.ts';
import { auditTable } from './tenancy/audit-log.ts';
import { grantTable } from './tenancy/grants.ts';
import { claimTable } from './claims.ts';
import { clockTable } from './clock.ts';
import { findingTable } from './findings.ts';
import { groupTable } from './groups.ts';
import { nodeTable } from './nodes.ts';
import { addCounts, recountReservations, reservationTable } from './reservations.ts';
import { addEncryption, snapshotTable } from './snapshots.ts';
import { addSharing, volumeTable } from './volumes.ts';

/** Which tables a store has; a release that changes them raises it, and says in `changes` how. */
export const schemaVersion = 6;

/** All tables whose rows make up the store, each after those that it refers to. */
export const tables = [
  volumeTable,
  groupTable,
  snapshotTable,
  attachmentTable,
  nodeTable,
  claimTable,
  clockTable,
  reservationTable,
  findingTable,
  auditTable,
  grantTable,
];

/** What a release changed in the tables of the one before it, by the version that this leads to. */
const changes: Readonly<Record<number, readonly string[]>> = {
  2: [
    ...['volumes', 'snapshots'].map(name => `alter table ${name} add column nonce text not null default ''`),
    ...clockTable.ddl,
  ],
  3: addCounts,
  4: auditTable.ddl,
  5: [...addSharing, ...grantTable.ddl],
  6: addEncryption,
};

/** Stands before the id of a store that was copied to another; releases that do not know it take it for another's id. */
export const copiedMark = 'copied ';

/** What a new store is called; one that was copied to another is refused, taken up again, or only looked at. */
type MigrateOptions = {
  readonly newId?: string;
  readonly ifCopied?: 'refuse' | 'adopt' | 'look';
};

/**
 * Makes the tables of a new store, changes those of an older release, one version after the other and each in a
 * transaction of its own, and sums up what is reserved; gives the store's id, which no other store has: a new one's is `newId`. Of several
 * gateways that start at once one changes the tables, and the others find it done. A store that a newer gateway has
 * changed is refused with one clear line, and so is one that was copied to another, unless `ifCopied` says else.
 */
export async function migrate(
  engine: Engine,
  { newId = crypto.randomUUID(), ifCopied = 'refuse' }: MigrateOptions = {},
): Promise<string> {
  while ((await engine.transaction(takeStep)) < schemaVersion);
  return engine.transaction(async sql => {
    await sql.lock('schema', 'version');
    await recountReservations(sql);
    await sql.run('create table if not exists store_identity (id text not null)');
    const adding = 'insert into store_identity (id) select ? where not exists (select 1 from store_identity)';
    await sql.run(adding, newId);
    const [identity] = await sql.all('select id from store_identity');
    const found = String(identity?.id);
    const id = found.replace(copiedMark, '');
    if (found !== id && ifCopied === 'refuse')
      throw new Error(
        'the store was copied to another, by "fairlead admin migrate-store", on which gateways go on; --adopt-store true takes this one up again',
      );
    if (ifCopied === 'adopt') await sql.run('update store_identity set id = ?', id);
    return id;
  });
}

/** Leads the store one version further, a new one to the last at once; returns the version that it has then. */
async function takeStep(sql: Sql): Promise<number> {
  await sql.lock('schema', 'version');
  await sql.run('create table if not exists schema_version (version integer not null)');
  const [row] = await sql.all('select version from schema_version');
  const found = Number(row?.version ?? 0);
  if (found === schemaVersion) return found;
  if (found > schemaVersion)
    throw new Error(
      `the store has schema version ${found}, but this gateway knows none after ${schemaVersion}`,
    );
  const version = found === 0 ? schemaVersion : found + 1;
  const statements = found === 0 ? tables.flatMap(({ ddl }) => ddl) : changes[version];
  for (const statement of statements ?? []) await sql.run(statement);
  await sql.run('delete from schema_version');
  await sql.run('insert into schema_version (version) values (?)', version);
  return version;
}
