import { type Encryption, encryptionOf } from '../../src/api/filesystems.ts';
import { invalidProblem, preconditionProblem, Problem } from '../../src/api/problem.ts';
import type { VolumeSource as AskedSource } from '../../src/api/volume.ts';
import type { VolumeSource } from '../backend.ts';
import { featuresOf } from '../pools/features.ts';
import type { Pool } from '../pools/pools.ts';
import { toKnownSnapshot } from '../snapshots/record.ts';
import type { Reader, Sql } from '../store.ts';
import { findAttachments } from '../tables/attachments.ts';
import type { Resource } from '../tables/claims.ts';
import { type SnapshotRecord, snapshotTable } from '../tables/snapshots.ts';
import { findVolume, type VolumeRecord, volumeTable } from '../tables/volumes.ts';
import { notFoundProblem } from '../tenancy/ownership.ts';
import { toKnownVolume } from './record.ts';

/** What is recorded of a source; NOT_FOUND when there is nothing. */
export async function requireSource(
  sql: Reader,
  source: AskedSource,
): Promise<SnapshotRecord | VolumeRecord> {
  const found =
    source.kind === 'snapshot'
      ? await snapshotTable.find(sql, { id: source.snapshotId })
      : await findVolume(sql, source.volumeId);
  if (!found) throw notFoundProblem(toResource(source));
  return found;
}

/** INVALID_ARGUMENT when the source is in another pool, or the pool makes no volumes from its kind. */
export function requireSourceOffered({ name, backend }: Pool, source: AskedSource, sourcePool: string): void {
  const { kind, id } = toResource(source);
  if (sourcePool !== name)
    throw invalidProblem(
      `parameters.pool: ${kind} "${id}" is in pool "${sourcePool}", and so is what is made from it, not in pool "${name}"`,
    );
  if (!featuresOf(backend).includes(kind === 'snapshot' ? 'restore' : 'clone'))
    throw invalidProblem(`pool "${name}" makes no volumes from a ${kind}`);
}

/**
 * The source of a volume in state creating, which keeps it. NOT_FOUND when missing, ABORTED when it is not ready, INVALID_ARGUMENT
 * where one of the two is encrypted and the other is not.
 */
export async function findSource(
  sql: Sql,
  { id, source, spec }: Pick<VolumeRecord, 'id' | 'source' | 'spec'>,
): Promise<VolumeSource | undefined> {
  if (!source) return undefined;
  const { kind } = source;
  // Asked for together, they take one way to a database that is reached over a network.
  const [found, attachedForWriting] = await Promise.all([
    requireSource(sql, source),
    source.kind === 'volume' && isWritable(sql, source.volumeId),
  ]);
  if (found.id === id && kind === 'volume') throw notFoundProblem({ kind, id });
  if (found.state !== 'ready')
    throw new Problem('ABORTED', `${kind} "${found.id}" is not ready: it is ${found.state}`);
  requireSameEncryption(encryptionOf(spec.parameters), found);
  if ('volumeId' in found) return { kind: 'snapshot', snapshot: toKnownSnapshot(found) };
  return { kind: 'volume', volume: toKnownVolume(found), attachedForWriting };
}

/** A copy has all that its source has, the header with the keys included. */
function requireSameEncryption(asked: Encryption | undefined, found: SnapshotRecord | VolumeRecord): void {
  const { id } = found;
  const own = 'volumeId' in found ? found.encryption : encryptionOf(found.spec.parameters);
  if (own !== asked)
    throw invalidProblem(
      `parameter "encryption" is ${asked ? `"${asked}"` : 'not given'}, and the source "${id}" is ${own ? `encrypted with "${own}"` : 'not encrypted'}: a copy is as its source is`,
    );
}

/** How many bytes the source has. */
export function sizeOfSource(source: VolumeSource | undefined): number {
  if (!source) return 0;
  return source.kind === 'snapshot' ? source.snapshot.sizeBytes : source.volume.sizeBytes;
}

/** True when some node can write to the volume, or will or could. */
export async function isWritable(sql: Reader, volumeId: string): Promise<boolean> {
  return (await findAttachments(sql, volumeId)).some(({ readonly }) => !readonly);
}

/** FAILED_PRECONDITION while something is made from the volume or snapshot that still needs it. */
export async function requireUnneeded(sql: Reader, { kind, id }: Resource): Promise<void> {
  const source: AskedSource =
    kind === 'volume' ? { kind, volumeId: id } : { kind: 'snapshot', snapshotId: id };
  const needing = "and state in ('creating', 'processing') limit 1";
  const [[made], [unready]] = await Promise.all([
    volumeTable.select(sql, { source, state: 'creating' }, 'limit 1'),
    kind === 'volume' ? snapshotTable.select(sql, { volumeId: id }, needing) : [],
  ]);
  if (!made && !unready) return;
  const reason = made
    ? `volume "${made.id}" is being made from it`
    : `snapshot "${unready?.id}" is not ready`;
  throw preconditionProblem(`${kind} "${id}" is needed: ${reason}`);
}

/** The source as what can be claimed. */
export function toResource(source: AskedSource): Resource {
  return source.kind === 'snapshot'
    ? { kind: 'snapshot', id: source.snapshotId }
    : { kind: 'volume', id: source.volumeId };
}
