import type { Reader } from '../store.ts';
import { type IdFilters, pieceById } from './by-id.ts';
import type { PieceStart } from './paging.ts';
import { unindexed } from './table.ts';
import { unfinishedVolumes, volumeTable, type VolumeRecord } from './volumes.ts';

/** The condition for each state. An index has exactly its volumes by id, and for unfinished ones few others. */
const conditions: Readonly<Record<VolumeRecord['state'], string>> = {
  creating: unfinished('creating'),
  ready: `state = 'ready'`,
  deleting: unfinished('deleting'),
  deleted: `state = 'deleted'`,
};

const states = Object.keys(conditions) as readonly VolumeRecord['state'][];

function unfinished(state: VolumeRecord['state']): string {
  return `${unfinishedVolumes} and ${unindexed('state')} = '${state}'`;
}

/** Returns a piece of the volumes of a pool, in a state, or both, by id. It reads no other volumes. */
export function listFiltered(
  reader: Reader,
  { pool, state, ...filters }: Pick<IdFilters, 'cluster' | 'pool' | 'state'>,
  from: PieceStart,
): Promise<readonly VolumeRecord[]> {
  const [tail, ...values] = pieceById(filters, from);
  if (pool === undefined) {
    const inState = state === undefined ? '' : `and ${conditions[state]}`;
    return volumeTable.select(reader, {}, `${inState} ${tail}`, ...values);
  }
  // The index has the volumes of a pool by id in each state. A single statement sees a volume in one state only.
  const wanted = state === undefined ? states : [state];
  const pieces = wanted.map(
    one =>
      `select id from (select id from volumes where pool = ? and state = '${one}' ${tail}) as volumes_${one}`,
  );
  const piece = `and id in (${pieces.join(' union all ')}) order by id limit ?`;
  const each = [pool, ...values];
  return volumeTable.select(reader, {}, piece, ...wanted.flatMap(() => each), from[1]);
}
