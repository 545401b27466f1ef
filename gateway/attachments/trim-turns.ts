import { formatOptionsOf, trimOf } from '../../src/api/filesystems.ts';
import { turnRanges } from '../../src/api/attachments/trim-turns.ts';
import type { Sql } from '../store.ts';
import { type AttachmentRecord, findFreeTurn } from '../tables/attachments.ts';
import type { VolumeRecord } from '../tables/volumes.ts';

type TrimTurn = Pick<AttachmentRecord, 'trimPool' | 'trimTurn'>;

/** The turn of an attachment that needs none, or gets none. */
export const noTurn: TrimTurn = { trimPool: undefined, trimTurn: undefined };

/**
 * Chooses the smallest free turn of the pool for an attachment that its node trims. An attachment that is being detached keeps
 * its turn for the next one. Locks the turns of the pool, after all other locks of the transaction.
 */
export async function chooseTurn(
  sql: Sql,
  volume: VolumeRecord,
  { before, ...request }: TrimmedAttachment & { readonly before: AttachmentRecord | undefined },
): Promise<TrimTurn> {
  const trimming = trimmingOf(volume, request);
  if (trimming === 'off') return noTurn;
  const { pool } = volume;
  if (before?.trimTurn !== undefined) return { trimPool: pool, trimTurn: before.trimTurn };
  await sql.lock('turns', pool);
  for (const range of turnRanges(trimming)) {
    const trimTurn = await findFreeTurn(sql, pool, range);
    if (trimTurn !== undefined) return { trimPool: pool, trimTurn };
  }
  return noTurn;
}

type TrimmedAttachment = Pick<AttachmentRecord, 'capability' | 'readonly'>;

/** Returns true for an attachment that its node would trim, if all turns of the pool were not taken. */
export function lacksTurn(volume: VolumeRecord, attachment: AttachmentRecord): boolean {
  return attachment.trimTurn === undefined && trimmingOf(volume, attachment) !== 'off';
}

/** Returns how often the node trims the volume: never one that is raw, read-only, or mounted on several nodes. */
function trimmingOf(
  { spec }: VolumeRecord,
  { capability: { accessType, accessMode }, readonly }: TrimmedAttachment,
): ReturnType<typeof trimOf> {
  const mayTrim = accessType === 'mount' && !readonly && !accessMode.startsWith('MULTI_NODE_');
  return mayTrim ? trimOf(formatOptionsOf(spec.parameters ?? {})) : 'off';
}
