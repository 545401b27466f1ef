import type { ExistingFilesystem } from '../../src/api/filesystems/candidates.ts';
import { invalidProblem, preconditionProblem, Problem } from '../../src/api/problem.ts';
import type { VolumeSource as RequestedSource } from '../../src/api/volume.ts';
import type { VolumeSource } from '../backend.ts';
import { featuresOf } from '../pools/features.ts';
import type { Pool } from '../pools/pools.ts';
import type { Reader, Sql } from '../store.ts';
import { isWritable } from '../tables/attachments.ts';
import type { Resource } from '../tables/claims.ts';
import { type SnapshotRecord, snapshotTable, toKnownSnapshot } from '../tables/snapshots.ts';
import { findVolume, type VolumeRecord, volumeTable } from '../tables/volumes.ts';
import { notFoundProblem } from '../callers/ownership.ts';
import { filesystemOfSource, requireSameContent } from './filesystem.ts';
import { toKnownVolume } from './record.ts';

export async function requireSource(
  sql: Reader,
  source: RequestedSource,
): Promise<SnapshotRecord | VolumeRecord> {
  const found =
    source.kind === 'snapshot'
      ? await snapshotTable.find(sql, { id: source.snapshotId })
      : await findVolume(sql, source.volumeId);
  if (!found) throw notFoundProblem(toResource(source));
  return found;
}

/** Throws INVALID_ARGUMENT when the source is in another pool, or the pool cannot create volumes from its kind. */
export function requireSourceOffered(
  { name, backend }: Pool,
  source: RequestedSource,
  sourcePool: string,
): void {
  const { kind, id } = toResource(source);
  if (sourcePool !== name)
    throw invalidProblem(
      `parameters.pool: ${kind} "${id}" is in pool "${sourcePool}", so its copies cannot be in pool "${name}"`,
    );
  if (!featuresOf(backend).includes(kind === 'snapshot' ? 'restore' : 'clone'))
    throw invalidProblem(`pool "${name}" cannot create a volume from a ${kind}`);
}

/**
 * Finds the source of a volume in state `creating`, which keeps the source from being deleted. NOT_FOUND when
 * it is missing, ABORTED when it is not ready, INVALID_ARGUMENT when its encryption or filesystem is not the
 * requested one.
 */
export async function findSource(
  sql: Sql,
  { id, source, spec }: Pick<VolumeRecord, 'id' | 'source' | 'spec'>,
): Promise<FoundSource> {
  if (!source) return {};
  const { kind } = source;
  // Statements that are sent together take only one round trip to a database on the network.
  const [found, attachedForWriting] = await Promise.all([
    requireSource(sql, source),
    source.kind === 'volume' && isWritable(sql, source.volumeId),
  ]);
  if (found.id === id && kind === 'volume') throw notFoundProblem({ kind, id });
  if (found.state !== 'ready')
    throw new Problem('ABORTED', `${kind} "${found.id}" is not ready: it is ${found.state}`);
  requireSameContent(spec, found);
  const filesystem = filesystemOfSource(found);
  if ('volumeId' in found)
    return { source: { kind: 'snapshot', snapshot: toKnownSnapshot(found) }, filesystem };
  return { source: { kind: 'volume', volume: toKnownVolume(found), attachedForWriting }, filesystem };
}

type FoundSource = {
  readonly source?: VolumeSource;
  readonly filesystem?: ExistingFilesystem | undefined;
};

export function sizeOfSource(source: VolumeSource | undefined): number {
  if (!source) return 0;
  return source.kind === 'snapshot' ? source.snapshot.sizeBytes : source.volume.sizeBytes;
}

/** Throws FAILED_PRECONDITION while a copy or snapshot that is in progress still needs the volume or snapshot. */
export async function requireUnneeded(sql: Reader, { kind, id }: Resource): Promise<void> {
  const source: RequestedSource =
    kind === 'volume' ? { kind, volumeId: id } : { kind: 'snapshot', snapshotId: id };
  const needing = "and state in ('creating', 'processing') limit 1";
  const [[copy], [unready]] = await Promise.all([
    volumeTable.select(sql, { source }, "and state = 'creating' limit 1"),
    kind === 'volume' ? snapshotTable.select(sql, { volumeId: id }, needing) : [],
  ]);
  if (!copy && !unready) return;
  const reason = copy
    ? `volume "${copy.id}" is being created from it`
    : `snapshot "${unready?.id}" is not ready`;
  throw preconditionProblem(`${kind} "${id}" is in use: ${reason}`);
}

export function toResource(source: RequestedSource): Resource {
  return source.kind === 'snapshot'
    ? { kind: 'snapshot', id: source.snapshotId }
    : { kind: 'volume', id: source.volumeId };
}
