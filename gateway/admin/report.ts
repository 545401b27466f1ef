import { showFormerPlaces, type FormerPlace } from '../volumes/former-places.ts';
import type { Finding } from './audit.ts';
import type { Done, Step } from './repair.ts';

/** A finding, with what is or was to be done about it. */
export type Row = Finding & Partial<Pick<Step, 'action' | 'note'>> & Partial<Pick<Done, 'outcome'>>;

/** The rows as a table for people, one a line, and below it in which former places volumes are. */
export function toTable(rows: readonly Row[], former: readonly FormerPlace[]): string {
  const note =
    former.length > 0
      ? `volumes in places that no setting names any more: ${showFormerPlaces(former)}\n`
      : '';
  return (rows.length === 0 ? 'the storage and the store agree\n' : layOut(rows)) + note;
}

/** The rows and the former places as one JSON document. */
export function toJson(rows: readonly Row[], formerPlaces: readonly FormerPlace[]): string {
  return `${JSON.stringify({ findings: rows, formerPlaces }, null, 2)}\n`;
}

function layOut(rows: readonly Row[]): string {
  const planned = rows.some(({ action }) => action !== undefined);
  const cells = rows.map(({ problem, kind, id, ageMs, detail, action, outcome, note }) => [
    problem,
    kind,
    id,
    toAge(ageMs),
    detail,
    ...(planned ? [outcome ?? '', action ?? '', note ?? ''] : []),
  ]);
  const heads = ['problem', 'kind', 'id', 'age', 'found', ...(planned ? ['outcome', 'action', 'note'] : [])];
  const lines = [heads, ...cells];
  const widths = heads.map((_, column) => Math.max(...lines.map(line => line[column]?.length ?? 0)));
  return lines
    .map(
      line =>
        `${line
          .map((cell, column) => cell.padEnd(widths[column] ?? 0))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('');
}

function toAge(ms: number): string {
  const units = [
    ['d', 86_400_000],
    ['h', 3_600_000],
    ['m', 60_000],
  ] as const;
  const unit = units.find(([, least]) => ms >= least);
  return unit ? `${Math.floor(ms / unit[1])}${unit[0]}` : `${Math.floor(ms / 1_000)}s`;
}
