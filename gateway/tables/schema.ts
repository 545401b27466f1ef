import type { Engine } from '../store.ts';
import { attachmentTable } from './attachments.ts';
import { auditTable } from './tenancy/audit-log.ts';
import { claimTable } from './claims.ts';
import { clockTable } from './clock.ts';
import { findingTable } from './findings.ts';
import { groupTable } from './groups.ts';
import { nodeTable } from './nodes.ts';
import { addCounts, recountReservations, reservationTable } from './reservations.ts';
import { snapshotTable } from './snapshots.ts';
import { volumeTable } from './volumes.ts';

/** Which tables a store has; a release that changes them raises it, and changes those that it finds. */
const version = 4;

const tables = [
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
];

/** What a release changed in the tables of the one before it, by the version that this leads to. */
const changes: Readonly<Record<number, readonly string[]>> = {
  2: [
    ...['volumes', 'snapshots'].map(name => `alter table ${name} add column nonce text not null default ''`),
    ...clockTable.ddl,
  ],
  3: addCounts,
  4: auditTable.ddl,
};

/**
 * Makes the tables of a new store, changes those of an older release, sums up what is reserved; gives the store's id, which no other store has. A store
 * that a newer gateway has changed is refused with one clear line.
 */
export function migrate(engine: Engine): Promise<string> {
  return engine.transaction(async sql => {
    await sql.run('create table if not exists schema_version (version integer not null)');
    const [row] = await sql.all('select version from schema_version');
    const found = Number(row?.version ?? 0);
    if (found > version)
      throw new Error(`the store has schema version ${found}, but this gateway knows none after ${version}`);
    const newer = Object.entries(changes).filter(([leadsTo]) => Number(leadsTo) > found);
    const all = tables.flatMap(({ ddl }) => ddl);
    for (const statement of found === 0 ? all : newer.flatMap(([, statements]) => statements))
      await sql.run(statement);
    if (row) await sql.run('update schema_version set version = ?', version);
    else await sql.run('insert into schema_version (version) values (?)', version);
    await recountReservations(sql);
    await sql.run('create table if not exists store_identity (id text not null)');
    const adding = 'insert into store_identity (id) select ? where not exists (select 1 from store_identity)';
    await sql.run(adding, crypto.randomUUID());
    const [identity] = await sql.all('select id from store_identity');
    return String(identity?.id);
  });
}
