import type { Segments } from '../../src/api/topology.ts';
import type { Reader } from '../store.ts';

/** In which places volumes are, those that are deleted and kept among them, and how many in each. */
export async function countPlaces(
  sql: Reader,
): Promise<readonly { readonly place: Segments; readonly count: number }[]> {
  const rows = await sql.all(
    'select place, count(*) as count from volumes where place is not null group by place order by place',
  );
  return rows.map(row => ({
    place: JSON.parse(String(row['place'])) as Segments,
    count: Number(row['count']),
  }));
}
