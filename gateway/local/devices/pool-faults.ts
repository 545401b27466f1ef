import type { HealthEntry } from '../../backend.ts';

/** Volumes have a fault once a part of the pool has reached this percentage of its limit. */
const alarmPercent = 80;

/** The used share of a part of a pool, in percent. Nothing new can be created at `fullPercent`. */
export type UsedPart = {
  readonly name: string;
  /** The part in messages, such as `the thin pool's metadata`. */
  readonly noun: string;
  readonly usedPercent: number;
  readonly fullPercent: number;
};

/** Reports the parts of a pool that are full, or will be soon. */
export function fullnessFaults(parts: readonly UsedPart[]): readonly HealthEntry[] {
  return parts.flatMap(({ name, noun, usedPercent, fullPercent }): readonly HealthEntry[] => {
    if (usedPercent < (fullPercent * alarmPercent) / 100) return [];
    const reason = `Pool${name}${usedPercent >= fullPercent ? 'Full' : 'NearlyFull'}`;
    return [{ status: 'DEGRADED', reason, message: `${usedPercent} % of ${noun} is used; extend it` }];
  });
}

/** A recorded volume, its size in the pool (undefined when it is missing), and its noun there. */
type PooledVolume = {
  readonly id: string;
  readonly sizeBytes: number;
  readonly foundBytes: number | undefined;
  readonly noun: string;
};

/** Reports that a volume is missing or too small. */
export function volumeFaults({ id, sizeBytes, foundBytes, noun }: PooledVolume): readonly HealthEntry[] {
  const status = 'DATA_LOSS';
  const name = `the ${noun} of volume "${id}"`;
  if (foundBytes === undefined) return [{ status, reason: 'VolumeMissing', message: `${name} is missing` }];
  if (foundBytes >= sizeBytes) return [];
  const message = `${name} has ${foundBytes} bytes, less than the volume's ${sizeBytes}`;
  return [{ status, reason: 'VolumeTruncated', message }];
}
