import type { Volume, VolumeSource, VolumeSpec } from '../../src/api/volume.ts';
import type { Segments } from '../../src/api/topology.ts';
import type { SizeBounds } from '../backend.ts';
import type { Reader } from '../store.ts';
import { segmentsColumn } from './segments.ts';
import { boolean, integer, json, optional, table, text, type Column } from './table.ts';

/**
 * What was asked when the volume was made; its name and its source stand beside it. Of the topology that was asked for,
 * the topologies that the storage had there, best first; absent when nothing was asked, or the storage had no topologies.
 */
export type RecordedSpec = Omit<VolumeSpec, 'name' | 'topology' | 'source'> & {
  readonly topologies?: readonly Segments[] | undefined;
};

/** What was begun on a volume that is ready, and must be finished. */
export type Pending = {
  readonly expansion?: SizeBounds | undefined;
  readonly modification?: Readonly<Record<string, string>> | undefined;
};

/** A volume as it is recorded. */
export type VolumeRecord = {
  readonly id: string;
  readonly cluster: string;
  readonly name: string;
  readonly pool: string;
  /** `deleted`: it can be restored, and only operators see it. */
  readonly state: Volume['state'] | 'deleted';
  readonly spec: RecordedSpec;
  readonly source: VolumeSource | undefined;
  readonly sizeBytes: number;
  /** What it takes of its pool. */
  readonly reservedBytes: number;
  readonly context: Readonly<Record<string, string>>;
  readonly createdAtMs: number;
  /** The mutable parameters as they are now, as far as that is certain. */
  readonly mutableParameters: Readonly<Record<string, string>>;
  readonly nodeExpansionRequired: boolean;
  /** A node could write to it as a raw device: it may hold data that no filesystem's probe knows. */
  readonly usedRaw: boolean;
  readonly pending: Pending;
  /** Where it is; undefined: it is reached from everywhere, or not made yet. */
  readonly segments: Segments | undefined;
  /** Until when a deleted volume can be restored. */
  readonly restorableUntilMs: number | undefined;
};

/** All volumes, those that are deleted and can be restored included. */
export const volumeTable = table<VolumeRecord, 'id'>('volumes', {
  key: ['id'],
  columns: {
    id: text('id'),
    cluster: text('cluster'),
    name: text('name'),
    pool: text('pool'),
    state: text('state'),
    spec: json('spec'),
    source: optional(sourceColumn('source')),
    sizeBytes: integer('size_bytes'),
    reservedBytes: integer('reserved_bytes'),
    context: json('context'),
    createdAtMs: integer('created_at'),
    mutableParameters: json('mutable_parameters'),
    nodeExpansionRequired: boolean('node_expansion'),
    usedRaw: boolean('used_raw'),
    pending: pendingColumn('pending'),
    segments: optional(segmentsColumn('segments')),
    restorableUntilMs: optional(integer('restorable_until')),
  },
});

/** The volume, or undefined when it is not recorded, or deleted. */
export async function findVolume(sql: Reader, id: string): Promise<VolumeRecord | undefined> {
  const volume = await volumeTable.find(sql, { id });
  return volume?.state === 'deleted' ? undefined : volume;
}

/** At most `limit` volumes of the cluster whose ids come after `afterId`, by id. */
export function listVolumes(
  sql: Reader,
  { cluster, afterId, limit }: { readonly cluster: string; readonly afterId: string; readonly limit: number },
): Promise<readonly VolumeRecord[]> {
  return volumeTable.select(
    sql,
    `where cluster = ? and id > ? and state <> 'deleted' order by id limit ?`,
    cluster,
    afterId,
    limit,
  );
}

/** One of the volumes that are being made from the source, or undefined when there is none. */
export async function findVolumeMadeFrom(sql: Reader, source: VolumeSource): Promise<string | undefined> {
  const [row] = await sql.all(
    `select id from volumes where source = ? and state = 'creating' limit 1`,
    sourceText(source),
  );
  return row && String(row.id);
}

/** A source as one word for its kind and its id, which an index finds. */
function sourceColumn(name: string): Column<VolumeSource> {
  return {
    name,
    encode: sourceText,
    decode(value) {
      const [kind, id = ''] = String(value).split(' ', 2);
      return kind === 'snapshot' ? { kind, snapshotId: id } : { kind: 'volume', volumeId: id };
    },
  };
}

function sourceText(source: VolumeSource): string {
  return source.kind === 'snapshot' ? `snapshot ${source.snapshotId}` : `volume ${source.volumeId}`;
}

/** Nothing pending is null, so that an index finds what is. */
function pendingColumn(name: string): Column<Pending> {
  const { encode, decode } = json<Pending>(name);
  return {
    name,
    encode(value) {
      const encoded = encode(value);
      return encoded === '{}' ? null : encoded;
    },
    decode: value => (value === null ? {} : decode(value)),
  };
}
