import type { Segments } from '../../src/api/topology.ts';
import { json, type Column } from './table.ts';

/** A place as text: the same for the same segments, whatever their order. */
export function placeText(place: Segments): string {
  return JSON.stringify(Object.fromEntries(Object.entries(place).sort(([a], [b]) => (a < b ? -1 : 1))));
}

/** A place in a column, by which it can be compared. */
export function placeColumn(name: string): Column<Segments> {
  return { ...json<Segments>(name), encode: placeText };
}
