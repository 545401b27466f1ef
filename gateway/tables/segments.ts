import type { Segments } from '../../src/api/topology.ts';
import { json, type Column } from './table.ts';

/** A topology as text: the same for the same segments, whatever their order. */
export function segmentsText(segments: Segments): string {
  return JSON.stringify(Object.fromEntries(Object.entries(segments).sort(([a], [b]) => (a < b ? -1 : 1))));
}

/** A topology in a column, by which it can be compared. */
export function segmentsColumn(name: string): Column<Segments> {
  return { ...json<Segments>(name), encode: segmentsText };
}
