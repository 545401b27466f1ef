import { showSegments, type Segments } from '../../src/api/topology.ts';
import type { Log } from '../../src/lib/log.ts';
import type { Backend } from '../backend.ts';
import { countPlaces } from '../tables/places.ts';
import type { Reader } from '../store.ts';
import { isOneOf } from './placement.ts';

/** A place in which so many volumes are, and which the storage's settings do not name any more. */
export type FormerPlace = { readonly place: Segments; readonly count: number };

/** Most places that are told in one line. */
const mostShown = 10;

/** Where volumes are that were made under other settings, those with the most volumes first. */
export async function findFormerPlaces(
  sql: Reader,
  { places = [] }: Pick<Backend, 'places'>,
): Promise<readonly FormerPlace[]> {
  const counted = await countPlaces(sql);
  return counted.filter(({ place }) => !isOneOf(place, places)).toSorted((a, b) => b.count - a.count);
}

/** The places for people, with how many volumes are in each: `"zone=a" (12), "zone=b" (3)`. */
export function showFormerPlaces(former: readonly FormerPlace[]): string {
  const shown = former.slice(0, mostShown).map(({ place, count }) => `"${showSegments(place)}" (${count})`);
  const more = former.length - shown.length;
  return `${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/** Says once that there are such volumes: they stay where they are, and only the nodes there reach them. */
export async function warnOfFormerPlaces(
  sql: Reader,
  { backend, log }: { readonly backend: Pick<Backend, 'places'>; readonly log: Log },
): Promise<void> {
  const former = await findFormerPlaces(sql, backend);
  if (former.length === 0) return;
  log.warn('volumes are in places that no setting names any more: only the nodes there reach them', {
    count: former.reduce((sum, { count }) => sum + count, 0),
    detail: showFormerPlaces(former),
  });
}
