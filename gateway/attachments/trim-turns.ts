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
  readonly log: Log;
};

/**
 * Chooses the smallest free turn of the pool for an attachment that its node trims, and logs a warning if all are taken. Locks
 * the turns of the pool, after all other locks of the transaction. Never trimmed are volumes that are raw, read-only, or
 * mounted on several nodes.
 */
export async function chooseTurn(
  sql: Sql,
  { volume: { id: volumeId, pool: trimPool, spec }, before, log }: TurnChoice,
  { capability: { accessType, accessMode }, readonly }: Pick<AttachmentRecord, 'capability' | 'readonly'>,
): Promise<TrimTurn> {
  const trimming = trimOf(formatOptionsOf(spec.parameters ?? {}));
  const isRaw = accessType === 'block';
  if (trimming === 'off' || isRaw || readonly || accessMode.startsWith('MULTI_NODE_')) return noTurn;
  if (before?.trimTurn !== undefined) return { trimPool, trimTurn: before.trimTurn };
  await sql.lock('turns', trimPool);
  for (const range of turnRanges(trimming)) {
    const trimTurn = await findFreeTurn(sql, trimPool, range);
    if (trimTurn !== undefined) return { trimPool, trimTurn };
  }
  log.warn('a volume is not trimmed, because all turns of its pool are taken', { volumeId });
  return noTurn;
}
