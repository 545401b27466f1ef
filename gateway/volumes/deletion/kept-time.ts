import { isForReaders } from '../../../src/api/storage.ts';
import { durationMs } from '../../../src/lib/numbers.ts';
import type { ServiceOptions } from '../../operations/service-options.ts';
import type { VolumeRecord } from '../../tables/volumes.ts';

/**
 * A volume that was made from a snapshot, and is deleted within this time of its creation, was temporary: backup
 * programs read snapshots by such volumes. In milliseconds; Velero gives one volume's data as long.
 */
export const temporaryMs = 4 * 3_600_000;

/** Returns how long a volume that is deleted at `nowMs` can be restored, in milliseconds; 0: it is deleted for good. */
export function keptTimeOf(
  { pools, keepDeletedMs = 0 }: Pick<ServiceOptions, 'pools' | 'keepDeletedMs'>,
  { state, spec, source, createdAtMs, pool }: VolumeRecord,
  nowMs: number,
): number {
  // A volume that is not ready contains nothing that a user could want back.
  if (state !== 'ready') return 0;
  if (spec.copiesKeepDeleted !== undefined) return durationMs(spec.copiesKeepDeleted);
  if (source && spec.capabilities.every(isForReaders)) return 0;
  // The age is negative if the clock was wrong, so the volume is kept.
  const ageMs = nowMs - createdAtMs;
  if (source?.kind === 'snapshot' && ageMs >= 0 && ageMs < temporaryMs) return 0;
  const { keepDeleted } = spec.parameters ?? {};
  return keepDeleted === undefined ? (pools.keepDeletedMs(pool) ?? keepDeletedMs) : durationMs(keepDeleted);
}
