import type { VolumeOrder } from '../../src/api/admin.ts';
import { Problem } from '../../src/api/problem.ts';
import type { Reader } from '../store.ts';
import type { PieceStart } from './paging.ts';
import { volumeTable, type VolumeRecord } from './volumes.ts';

/** Returns a piece of all volumes by size or age. ABORTED if the volume before the piece is gone, because its place is unknown then. */
export async function listOrdered(
  reader: Reader,
  order: VolumeOrder,
  [afterId, limit]: PieceStart,
): Promise<readonly VolumeRecord[]> {
  const isBySize = order.endsWith('size');
  const [column, property] = isBySize
    ? (['size_bytes', 'sizeBytes'] as const)
    : (['created_at_ms', 'createdAtMs'] as const);
  // The youngest volume was created last.
  const [sign, direction] = isBySize === order.startsWith('-') ? ['<', 'desc'] : ['>', 'asc'];
  const last = afterId === '' ? undefined : await volumeTable.find(reader, { id: afterId });
  if (afterId !== '' && !last)
    throw new Problem(
      'ABORTED',
      'the last volume of the page before was deleted; read the list again from the start',
    );
  const after = last ? `and (${column}, id) ${sign} (?, ?)` : '';
  const tail = `${after} order by ${column} ${direction}, id ${direction} limit ?`;
  return volumeTable.select(reader, {}, tail, ...(last ? [last[property], last.id] : []), limit);
}
