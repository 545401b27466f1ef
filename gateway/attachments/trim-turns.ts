import { formatOptionsOf, trimOf } from '../../src/api/filesystems.ts';
import { turnRanges } from '../../src/api/attachments/trim-turns.ts';
import type { Log } from '../../src/lib/log.ts';
import type { Sql } from '../store.ts';
import { type AttachmentRecord, findFreeTurn } from '../tables/attachments.ts';
import type { VolumeRecord } from '../tables/volumes.ts';

type TrimTurn = Pick<AttachmentRecord, 'trimPool' | 'trimTurn'>;

/** The turn of an attachment that needs none, or gets none. */
export const noTurn: TrimTurn = { trimPool: undefined, trimTurn: undefined };

type TurnChoice = {
  readonly volume: VolumeRecord;
  /** An attachment that is being detached. The next one gets its turn. */
  readonly before: AttachmentRecord | undefined;
};

type TrimmedAttachment = Pick<AttachmentRecord, 'capability' | 'readonly'>;

/**
 * Chooses the smallest free turn of the pool for an attachment that its node trims. Locks the turns of the pool, after all other
 * locks of the transaction.
 */
export async function chooseTurn(
  sql: Sql,
  { volume, before }: TurnChoice,
  attachment: TrimmedAttachment,
): Promise<TrimTurn> {
  const trimming = trimmingOf(volume, attachment);
  if (trimming === 'off') return noTurn;
  const { pool: trimPool } = volume;
  if (before?.trimTurn !== undefined) return { trimPool, trimTurn: before.trimTurn };
  await sql.lock('turns', trimPool);
  for (const range of turnRanges(trimming)) {
    const trimTurn = await findFreeTurn(sql, trimPool, range);
    if (trimTurn !== undefined) return { trimPool, trimTurn };
  }
  return noTurn;
}

/** Logs a warning for an attachment that its node would trim if not all turns of the pool were taken. */
export function warnWithoutTurn(log: Log, volume: VolumeRecord, attachment: AttachmentRecord): void {
  if (attachment.trimTurn !== undefined || trimmingOf(volume, attachment) === 'off') return;
  const { id: volumeId, pool } = volume;
  log.warn(
    `a volume is not trimmed, because all turns of pool "${pool}" are taken; detach a trimmed volume of the pool, then attach this one again, or give it the mount option discard`,
    { volumeId },
  );
}

/** Returns how often the node trims the volume: never one that is raw, read-only, or mounted on several nodes. */
function trimmingOf(
  { spec }: VolumeRecord,
  { capability: { accessType, accessMode }, readonly }: TrimmedAttachment,
): ReturnType<typeof trimOf> {
  const isExempt = accessType === 'block' || readonly || accessMode.startsWith('MULTI_NODE_');
  return isExempt ? 'off' : trimOf(formatOptionsOf(spec.parameters ?? {}));
}
