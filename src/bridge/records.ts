import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync, type SQLOutputValue } from 'node:sqlite';
import type { AttachmentSpec, NodeSpec } from '../api/node.ts';
import type { GroupSpec, SnapshotSpec } from '../api/snapshot.ts';
import type { Segments } from '../api/topology.ts';
import type { VolumeSpec } from '../api/volume.ts';
import type { VolumeContentSource } from '../csi/generated/csi/v1/VolumeContentSource.ts';

/** A map of texts, such as a driver's contexts. */
export type Texts = Readonly<Record<string, string>>;

/** The resource that the driver made; absent until its answer is known. `handle` is the driver's id of it. */
type CreatedPart<T> = { readonly id: string; readonly made?: T & { readonly handle: string } };

export type NodeRecord = { readonly id: string; readonly spec: NodeSpec };

export type AttachmentRecord = {
  readonly spec: AttachmentSpec;
  readonly attachmentId: string;
  /** The node's id at the driver. */
  readonly driverNodeId: string;
  /** The driver's publish context; absent until the driver has published the volume. */
  readonly publishContext?: Texts;
};

export type VolumeRecord = {
  readonly spec: VolumeSpec;
  readonly createdAt: string;
  readonly mutableParameters: Texts;
  readonly attachments: Readonly<Record<string, AttachmentRecord>>;
  /** The source at the driver, which a repeated creation names again even if it is deleted by then. */
  readonly source?: VolumeContentSource;
  /** The size that the driver is asked for, within all bounds; 0 lets the driver choose. */
  readonly wantedBytes: number;
} & CreatedPart<{
  readonly sizeBytes: number;
  readonly context: Texts;
  readonly topology?: readonly Segments[];
}>;

/** `isReady` of a snapshot: volumes can be made from it. */
type SnapshotFacts = { readonly sizeBytes: number; readonly createdAt: string; readonly isReady: boolean };

/** The volume of a snapshot at the driver, as it was when the snapshot was requested. */
export type Origin = { readonly volumeId: string; readonly handle: string; readonly sizeBytes: number };

export type SnapshotRecord = {
  readonly spec: SnapshotSpec;
  readonly origin: Origin;
  readonly groupId?: string;
} & CreatedPart<SnapshotFacts>;

/** The snapshots of a group are records of their own, by the ids in `snapshotIds`. */
export type GroupRecord = { readonly spec: GroupSpec; readonly origins: readonly Origin[] } & CreatedPart<{
  readonly snapshotIds: readonly string[];
  readonly createdAt: string;
  readonly isReady: boolean;
}>;

type Kinds = { volume: VolumeRecord; snapshot: SnapshotRecord; group: GroupRecord; node: NodeRecord };
type Kind = keyof Kinds;
export type RecordOf<K extends Kind> = Kinds[K];

/** The kinds of resources that the driver makes. */
export type CreatedKind = Exclude<Kind, 'node'>;
export type Made<K extends CreatedKind> = NonNullable<Kinds[K]['made']>;
/** A resource that the driver has made. */
export type CreatedResource<K extends CreatedKind> = RecordOf<K> & { readonly made: Made<K> };

export function isCreated<K extends CreatedKind>(resource: RecordOf<K>): resource is CreatedResource<K> {
  return resource.made !== undefined;
}

/** One page: at most `limit` records with ids after `after`. */
export type Page = { readonly after: string; readonly limit: number };

export type Records = ReturnType<typeof openRecords>;

/**
 * Opens the bridge's own records. A change is durable when its function returns. Throws when they belong to another
 * driver.
 */
export function openRecords(directory: string, driver: string) {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const db = new DatabaseSync(join(directory, 'bridge.sqlite'));
  // An exclusive lock keeps a second bridge away from the same records.
  db.exec(`pragma locking_mode = exclusive; pragma journal_mode = wal; pragma synchronous = full;
    create table if not exists records (kind text, id text, value text, primary key (kind, id)) without rowid;
    create index if not exists snapshots_of on records (value ->> '$.spec.volumeId', id) where kind = 'snapshot';
    create index if not exists handles on records (value ->> '$.made.handle') where kind = 'volume'`);
  const sql = db.createTagStore();
  /** Writes all records or none. */
  const write = (kind: Kind | 'driver', records: readonly { readonly id: string }[]) =>
    sql.run`insert or replace into records
      select ${kind}, value ->> 'id', value from json_each(${JSON.stringify(records)})`;
  const owner = sql.get`select value ->> 'id' as name from records where kind = 'driver'`?.['name'] ?? driver;
  if (owner !== driver)
    throw new Error(
      `"${directory}" has the records of the driver "${owner}"; choose another directory for "${driver}"`,
    );
  write('driver', [{ id: driver }]);
  return {
    find<K extends Kind>(kind: K, id: string): RecordOf<K> | undefined {
      return parse<K>(sql.get`select value from records where kind = ${kind} and id = ${id}`);
    },
    page: <K extends Kind>(kind: K, { after, limit }: Page) =>
      parseAll<K>(
        sql.all`select value from records where kind = ${kind} and id > ${after} order by id limit ${limit}`,
      ),
    snapshotsOf: (volumeId: string, { after, limit }: Page) =>
      parseAll<'snapshot'>(
        sql.all`select value from records where kind = 'snapshot' and value ->> '$.spec.volumeId' = ${volumeId}
          and id > ${after} order by id limit ${limit}`,
      ),
    /** Lists the records of a kind that the driver has not made yet, as after a crash. */
    unfinished: <K extends CreatedKind>(kind: K) =>
      parseAll<K>(sql.all`select value from records where kind = ${kind} and value ->> 'made' is null`),
    /** Finds a volume that is attached to a node. */
    volumeOn: (nodeId: string) =>
      parse<'volume'>(
        sql.get`select value from records where kind = 'volume'
          and exists (select 1 from json_each(records.value, '$.attachments') where key = ${nodeId}) limit 1`,
      ),
    /** Finds the volume with the driver's handle. */
    volumeOf: (handle: string) =>
      parse<'volume'>(
        sql.get`select value from records where kind = 'volume' and value ->> '$.made.handle' = ${handle}`,
      ),
    put: <K extends Kind>(kind: K, ...records: readonly RecordOf<K>[]) => write(kind, records),
    /** Removes all records or none. */
    drop: (kind: Kind, ...ids: readonly string[]) =>
      sql.run`delete from records
        where kind = ${kind} and id in (select value from json_each(${JSON.stringify(ids)}))`,
    close: () => db.close(),
  };
}

type Row = Readonly<Record<string, SQLOutputValue>>;

function parse<K extends Kind>(row: Row | undefined): RecordOf<K> | undefined {
  return row && (JSON.parse(String(row['value'])) as RecordOf<K>);
}

function parseAll<K extends Kind>(rows: readonly Row[]): readonly RecordOf<K>[] {
  return rows.flatMap(row => parse<K>(row) ?? []);
}
