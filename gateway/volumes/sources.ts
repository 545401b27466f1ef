import { Problem } from '../../src/api/problem.ts';
import type { VolumeSource as AskedSource } from '../../src/api/volume.ts';
import type { Segments } from '../../src/api/topology.ts';
import type { Backend, VolumeSource } from '../backend.ts';
import { featuresOf } from './features.ts';
import { notFound, requireOwn } from '../tenancy/ownership.ts';
import { findAttachments } from '../tables/attachments.ts';
import { dropClaim, takeClaim, type Claim, type Resource } from '../tables/claims.ts';
import { findSnapshot, findUnreadySnapshot } from '../tables/snapshots.ts';
import { findVolume, findVolumeMadeFrom, type VolumeRecord } from '../tables/volumes.ts';
import { toKnownSnapshot, toKnownVolume } from './documents.ts';
import type { Reader, Sql } from '../store.ts';
import { requireHeld, type Work } from '../operations/operation.ts';

/** INVALID_ARGUMENT for a kind of source that the backend does not take, NOT_FOUND for another cluster's. */
export function checkSource(backend: Backend, cluster: string, source: AskedSource): void {
  if (!featuresOf(backend).includes(source.kind === 'snapshot' ? 'restore' : 'clone'))
    throw new Problem('INVALID_ARGUMENT', `backend "${backend.name}" makes no volumes from a ${source.kind}`);
  requireOwn(cluster, resourceOf(source));
}

/** What else the making of a volume needs for itself: a volume that it is filled from, which must not change meanwhile. */
export function claimedSource(source: AskedSource | undefined): readonly Resource[] {
  return source?.kind === 'volume' ? [resourceOf(source)] : [];
}

/**
 * Finds the source of a volume that is recorded in state creating, and claims it when it is a volume. From then on it
 * is not deleted before the volume is made or gone. NOT_FOUND when it is not there, ABORTED when it cannot be used yet.
 */
export async function useSource(
  sql: Sql,
  { volume, work, claim }: { readonly volume: VolumeRecord; readonly work: Work; readonly claim: Claim },
): Promise<VolumeSource | undefined> {
  const { source } = volume.spec;
  if (!source) return undefined;
  const found =
    source.kind === 'snapshot'
      ? await findSnapshot(sql, source.snapshotId)
      : await findVolume(sql, source.volumeId);
  const resource = resourceOf(source);
  if (!found || (found.kind === 'volume' && found.id === volume.id)) throw notFound(resource);
  if (found.state !== 'ready')
    throw new Problem('ABORTED', `${found.kind} "${found.id}" is not ready: it is ${found.state}`);
  if (found.kind === 'snapshot') return { kind: 'snapshot', snapshot: toKnownSnapshot(found) };
  work.requireFree(found);
  await takeClaim(sql, resource, claim);
  const attachedForWriting = await isWritable(sql, found.id);
  return { kind: 'volume', volume: toKnownVolume(found), attachedForWriting };
}

/** Frees what `useSource` claimed; ABORTED when that was lost meanwhile, so that the copy may be torn. */
export async function freeSource(sql: Sql, volume: VolumeRecord, owner: string): Promise<void> {
  for (const resource of claimedSource(volume.spec.source))
    requireHeld(await dropClaim(sql, resource, owner), resource);
}

/** How many bytes the source has. */
export function sizeOfSource(source: VolumeSource | undefined): number {
  if (!source) return 0;
  return source.kind === 'snapshot' ? source.snapshot.sizeBytes : source.volume.sizeBytes;
}

/** Where the source is; undefined: copies of it can be anywhere. */
export function placeOfSource(source: VolumeSource | undefined): Segments | undefined {
  return source?.kind === 'snapshot' ? source.snapshot.place : source?.volume.place;
}

/** True when some node may write to the volume, or is on its way to. */
export async function isWritable(sql: Reader, volumeId: string): Promise<boolean> {
  return (await findAttachments(sql, volumeId)).some(({ readonly }) => !readonly);
}

/** FAILED_PRECONDITION while something is made from the volume or snapshot that still needs it. */
export async function requireUnneeded(sql: Reader, { kind, id }: Resource): Promise<void> {
  const source: AskedSource =
    kind === 'volume' ? { kind, volumeId: id } : { kind: 'snapshot', snapshotId: id };
  const made = await findVolumeMadeFrom(sql, source);
  if (made !== undefined)
    throw new Problem(
      'FAILED_PRECONDITION',
      `${kind} "${id}" is needed: volume "${made}" is being made from it`,
    );
  const unready = kind === 'volume' ? await findUnreadySnapshot(sql, id) : undefined;
  if (unready !== undefined)
    throw new Problem(
      'FAILED_PRECONDITION',
      `volume "${id}" has the snapshot "${unready}", which is not ready`,
    );
}

function resourceOf(source: AskedSource): Resource {
  return source.kind === 'snapshot'
    ? { kind: 'snapshot', id: source.snapshotId }
    : { kind: 'volume', id: source.volumeId };
}
