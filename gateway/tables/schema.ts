import type { Engine, Reader, Sql, SqlRow } from '../store.ts';
import { addTurns, attachmentTable, indexAttachments } from './attachments.ts';
import { addAuditLog, addDetail, addRefusals, auditTable, indexAuditLog } from './audit-log.ts';
import { addConsent, addGrants, grantTable, indexGrants } from './grants.ts';
import { claimTable, indexClaims } from './claims.ts';
import { clockTable } from './clock.ts';
import { closureTable } from './closures.ts';
import { copyGrantTable } from './copy-grants.ts';
import { countTable, recount } from './counts.ts';
import { endedTokenTable } from './ended-tokens.ts';
import { findingTable } from './findings.ts';
import { groupTable } from './groups.ts';
import { historyTable } from './history.ts';
import { addGone, nodeTable } from './nodes.ts';
import { addCounts, addParts, recountReservations, reservationTable } from './reservations.ts';
import { addEncryption, addFilesystem, narrowSnapshots, snapshotTable } from './snapshots.ts';
import { addAge, addSharing, indexForLists, indexOrigins, narrowVolumes, volumeTable } from './volumes.ts';

/** The version of the tables. A release that changes them raises it and adds the step to `changes`. */
export const schemaVersion = 8;

/** All tables of a store, each after the tables that it refers to. */
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
  copyGrantTable,
  countTable,
  closureTable,
  endedTokenTable,
  historyTable,
];

/** The statements of each step, by the version that it leads to. */
const changes: Readonly<Record<number, readonly string[]>> = {
  2: [
    ...['volumes', 'snapshots'].map(name => `alter table ${name} add column nonce text not null default ''`),
    ...clockTable.ddl,
  ],
  3: addCounts,
  4: addAuditLog,
  5: [...addSharing, ...addGrants],
  6: addEncryption,
  7: [
    ...addRefusals,
    ...addConsent,
    ...narrowVolumes,
    ...narrowSnapshots,
    ...addFilesystem,
    ...indexAttachments,
    ...indexClaims,
    ...indexGrants,
    ...indexAuditLog,
    ...countTable.ddl,
  ],
  8: [
    addDetail,
    ...addGone,
    ...closureTable.ddl,
    ...addParts,
    ...endedTokenTable.ddl,
    ...historyTable.ddl,
    ...copyGrantTable.ddl,
    indexOrigins,
    ...addAge,
    ...addTurns,
    ...indexForLists,
  ],
};

/**
 * Marks the id of a store that was copied to another. Releases that do not know the mark take it for another
 * store's id.
 */
export const copiedMark = 'copied ';

/**
 * The id of a new store; the choice for a store that was copied to another: refuse it, use it again, or
 * only read it; and the choice for a store of an older release.
 */
type MigrateOptions = {
  readonly newId?: string;
  readonly ifCopied?: 'refuse' | 'adopt' | 'look';
  readonly ifOlder?: 'upgrade' | 'refuse';
};

/**
 * Makes the tables of a new store, or upgrades the tables of an older one, one version after the other, each in its
 * own transaction. Then it recomputes the sums and counts, and returns the store's unique id; a new store
 * gets `newId`. If several gateways start at once, one of them changes the tables. A store that a newer
 * gateway has upgraded is refused, and so is a copied store, unless `ifCopied` says otherwise. With `ifOlder: 'refuse'`
 * an older store is refused unchanged.
 */
export async function migrate(
  engine: Engine,
  { newId = crypto.randomUUID(), ifCopied = 'refuse', ifOlder = 'upgrade' }: MigrateOptions = {},
): Promise<string> {
  while ((await engine.transaction(sql => takeStep(sql, ifOlder))) < schemaVersion);
  return engine.transaction(async sql => {
    await sql.lock('schema', 'version');
    await recountReservations(sql);
    await recount(sql);
    await sql.run('create table if not exists store_identity (id text not null)');
    const adding = 'insert into store_identity (id) select ? where not exists (select 1 from store_identity)';
    await sql.run(adding, newId);
    const [identity] = await sql.all('select id from store_identity');
    const found = String(identity?.id);
    const id = found.replace(copiedMark, '');
    if (found !== id && ifCopied === 'refuse') throw copiedProblem();
    if (ifCopied === 'adopt') await sql.run('update store_identity set id = ?', id);
    return id;
  });
}

/** Upgrades the store by one version, or a new store to the last version at once. Returns its version then. */
async function takeStep(sql: Sql, ifOlder: MigrateOptions['ifOlder']): Promise<number> {
  await sql.lock('schema', 'version');
  await sql.run('create table if not exists schema_version (version integer not null)');
  const [row] = await sql.all('select version from schema_version');
  const found = Number(row?.version ?? 0);
  if (found === schemaVersion) return found;
  requireKnownVersion(found);
  if (found > 0 && ifOlder === 'refuse') throw olderProblem(found);
  const version = found === 0 ? schemaVersion : found + 1;
  const statements = found === 0 ? tables.flatMap(({ ddl }) => ddl) : changes[version];
  for (const statement of statements ?? []) await sql.run(statement);
  await sql.run('delete from schema_version');
  await sql.run('insert into schema_version (version) values (?)', version);
  return version;
}

function copiedProblem(): Error {
  return new Error(
    'this store was copied to another by "fairlead admin migrate-store"; start the gateway with the other store, or use this one again with --adopt-store',
  );
}

function olderProblem(found: number): Error {
  return new Error(
    `the store has schema version ${found}, and this gateway needs ${schemaVersion}; stop all gateways of the older release, and start this one without --keep-store-version`,
  );
}

function requireKnownVersion(found: number): void {
  if (found > schemaVersion)
    throw new Error(
      `the store has schema version ${found}, but this gateway supports at most ${schemaVersion}; start a newer release`,
    );
}

/**
 * Reads the id and the version of a store, which no gateway may have used yet. Throws for a store that `migrate` would
 * refuse.
 */
export async function inspect(
  { all }: Reader,
  { isAdopted }: { readonly isAdopted: boolean },
): Promise<{ readonly id: string | undefined; readonly version: number }> {
  const [row] = await all('select version from schema_version').catch(noRowsIfMissing);
  const version = Number(row?.['version'] ?? 0);
  requireKnownVersion(version);
  const [identity] = await all('select id from store_identity').catch(noRowsIfMissing);
  const found = identity && String(identity['id']);
  const id = found?.replace(copiedMark, '');
  if (found !== id && !isAdopted) throw copiedProblem();
  return { id, version };
}

/** Returns no rows after the failure to read a table that does not exist, and throws any other failure. */
function noRowsIfMissing(failure: unknown): readonly SqlRow[] {
  const { code, message } = Object(Object(failure).cause) as {
    readonly code?: unknown;
    readonly message?: unknown;
  };
  // PostgreSQL has a code for it, SQLite only words.
  if (code === '42P01' || String(message).startsWith('no such table: ')) return [];
  throw failure;
}
