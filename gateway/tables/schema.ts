import type { Engine } from '../store.ts';
import { recountReservations } from './reservations.ts';

/**
 * The tables, as steps that are only ever added to. A store at version N has had the first N steps. The SQL is what
 * all engines understand.
 */
const steps: readonly (readonly string[])[] = [
  [
    `create table volumes (
      id text not null primary key,
      cluster text not null,
      name text not null,
      pool text not null,
      state text not null,
      spec text not null,
      source text,
      size_bytes bigint not null,
      reserved_bytes bigint not null,
      context text not null,
      created_at bigint not null,
      mutable_parameters text not null,
      node_expansion integer not null,
      used_raw integer not null,
      pending text,
      segments text,
      restorable_until bigint
    )`,
    'create index volumes_by_cluster on volumes (cluster, id)',
    'create index volumes_by_source on volumes (source) where source is not null',
    `create index volumes_unfinished on volumes (id) where state <> 'ready'`,
    'create index volumes_pending on volumes (id) where pending is not null',
    `create table snapshot_groups (
      id text not null primary key,
      cluster text not null,
      name text not null,
      pool text not null,
      state text not null,
      parameters text not null,
      created_at bigint not null
    )`,
    `create index snapshot_groups_unfinished on snapshot_groups (id) where state <> 'ready'`,
    `create table snapshots (
      id text not null primary key,
      cluster text not null,
      name text not null,
      pool text not null,
      volume_id text not null,
      group_id text,
      member integer not null,
      state text not null,
      parameters text not null,
      size_bytes bigint not null,
      reserved_bytes bigint not null,
      created_at bigint not null,
      segments text
    )`,
    'create index snapshots_by_cluster on snapshots (cluster, id)',
    'create index snapshots_by_volume on snapshots (volume_id, id)',
    'create index snapshots_by_group on snapshots (group_id, member) where group_id is not null',
    `create index snapshots_unfinished on snapshots (id) where state <> 'ready'`,
    `create table attachments (
      volume_id text not null references volumes (id),
      cluster text not null,
      node_id text not null,
      attachment_id text not null,
      state text not null,
      capability text not null,
      readonly integer not null,
      reach text,
      size_bytes bigint,
      primary key (volume_id, cluster, node_id)
    )`,
    'create index attachments_by_node on attachments (cluster, node_id)',
    `create index attachments_unfinished on attachments (volume_id) where state <> 'attached'`,
    `create table nodes (
      cluster text not null,
      id text not null,
      spec text not null,
      primary key (cluster, id)
    )`,
    `create table claims (
      kind text not null,
      id text not null,
      owner text not null,
      operation text not null,
      since bigint not null,
      until bigint not null,
      primary key (kind, id)
    )`,
    `create table reservations (
      pool text not null,
      segments text not null,
      cluster text not null,
      bytes bigint not null,
      primary key (pool, segments, cluster)
    )`,
    `create table findings (
      pool text not null,
      kind text not null,
      id text not null,
      problem text not null,
      first_seen bigint not null,
      primary key (pool, kind, id, problem)
    )`,
  ],
];

/** Brings the tables up to date and sums up what is reserved. A store that a newer gateway has changed is refused with one clear line. */
export async function migrate(engine: Engine): Promise<void> {
  await engine.transaction(async sql => {
    await sql.run('create table if not exists schema_version (version integer not null)');
    const rows = await sql.all('select version from schema_version');
    const version = Number(rows[0]?.version ?? 0);
    if (version > steps.length)
      throw new Error(
        `the store has schema version ${version}, but this gateway knows none after ${steps.length}`,
      );
    for (const statement of steps.slice(version).flat()) await sql.run(statement);
    if (version < steps.length) {
      await sql.run('delete from schema_version');
      await sql.run('insert into schema_version (version) values (?)', steps.length);
    }
    await recountReservations(sql);
  });
}
