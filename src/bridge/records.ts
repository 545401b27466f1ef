import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { AttachmentSpec, NodeSpec } from '../api/node.ts';
import type { GroupSpec, SnapshotSpec } from '../api/snapshot.ts';
import type { VolumeContentSource } from '../csi/generated/csi/v1/VolumeContentSource.ts';
import type { Segments } from '../api/topology.ts';
import type { VolumeSpec } from '../api/volume.ts';

/** A map of texts, such as a driver's contexts. */
export type Texts = Readonly<Record<string, string>>;

/** The resource that the driver made; absent until its answer is known. `handle` is the driver's id of it. */
type CreatedPart<T> = { readonly made?: T & { readonly handle: string } };

export type NodeRecord = { readonly spec: NodeSpec };

export type AttachmentRecord = {
  readonly spec: AttachmentSpec;
  readonly attachmentId: string;
  /** The node's id at the driver. */
  readonly driverNodeId: string;
  readonly sizeBytes: number;
  readonly mayFormat: boolean;
  /** The driver's publish context; absent until the driver has published the volume. */
  readonly publishContext?: Texts;
};

export type VolumeRecord = {
  readonly spec: VolumeSpec;
  readonly createdAt: string;
  readonly mutableParameters: Texts;
  /** True once the volume may hold data. */
  readonly holdsData: boolean;
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

type Kinds = {
  volume: VolumeRecord;
  snapshot: SnapshotRecord;
  group: GroupRecord;
  node: NodeRecord;
};
export type Kind = keyof Kinds;
export type WithId<K extends Kind> = Kinds[K] & { readonly id: string };

type CreatedKind = 'volume' | 'snapshot' | 'group';
/** A resource that the driver has made. */
export type CreatedResource<K extends CreatedKind> = WithId<K> & {
  readonly made: NonNullable<Kinds[K]['made']>;
};

export function isCreated<K extends CreatedKind>(resource: WithId<K>): resource is CreatedResource<K> {
  return resource.made !== undefined;
}

/** One page: at most `limit` records with ids after `after`. */
type Page = { readonly after: string; readonly limit: number };

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
  const select = db.prepare('select value from records where kind = ? and id = ?');
  const selectPage = db.prepare(
    'select id, value from records where kind = ? and id > ? order by id limit ?',
  );
  const selectSnapshots = db.prepare(
    `select id, value from records where kind = 'snapshot' and value ->> '$.spec.volumeId' = ? order by id`,
  );
  const selectUnfinished = db.prepare(
    `select id, value from records where kind = ? and value ->> '$.made' is null`,
  );
  const selectHeld = db.prepare(
    `select id from records where kind = 'volume'
      and exists (select 1 from json_each(records.value, '$.attachments') where key = ?) limit 1`,
  );
  const selectMade = db.prepare(
    `select id from records where kind = 'volume' and value ->> '$.made.handle' = ?`,
  );
  const insert = db.prepare('insert or replace into records values (?, ?, ?)');
  const erase = db.prepare('delete from records where kind = ? and id = ?');
  const owner = select.get('driver', '')?.['value'] ?? driver;
  if (owner !== driver)
    throw new Error(
      `"${directory}" has the records of the driver "${owner}"; choose another directory for "${driver}"`,
    );
  insert.run('driver', '', driver);
  return {
    find<K extends Kind>(kind: K, id: string): WithId<K> | undefined {
      const row = select.get(kind, id);
      return row && parse<K>(id, row['value']);
    },
    page<K extends Kind>(kind: K, { after, limit }: Page): readonly WithId<K>[] {
      return selectPage.all(kind, after, limit).map(({ id, value }) => parse<K>(String(id), value));
    },
    /** Lists the records of a kind that the driver has not made yet, as after a crash. */
    unfinished: <K extends CreatedKind>(kind: K): readonly WithId<K>[] =>
      selectUnfinished.all(kind).map(({ id, value }) => parse<K>(String(id), value)),
    snapshotsOf: (volumeId: string): readonly WithId<'snapshot'>[] =>
      selectSnapshots.all(volumeId).map(({ id, value }) => parse<'snapshot'>(String(id), value)),
    /** Finds a volume that is attached to a node. */
    volumeOn: (nodeId: string): string | undefined => idIn(selectHeld.get(nodeId)),
    /** Finds the volume with the driver's handle. */
    volumeOf: (handle: string): string | undefined => idIn(selectMade.get(handle)),
    /** Writes all records or none. */
    put<K extends Kind>(kind: K, ...records: readonly WithId<K>[]): void {
      db.exec('begin');
      for (const { id, ...value } of records) insert.run(kind, id, JSON.stringify(value));
      db.exec('commit');
    },
    /** Removes all records or none. */
    drop(kind: Kind, ...ids: readonly string[]): void {
      db.exec('begin');
      for (const id of ids) erase.run(kind, id);
      db.exec('commit');
    },
    close: () => db.close(),
  };
}

function idIn(row: Readonly<Record<string, unknown>> | undefined): string | undefined {
  return row && String(row['id']);
}

function parse<K extends Kind>(id: string, value: unknown): WithId<K> {
  return { ...(JSON.parse(String(value)) as Kinds[K]), id };
}
