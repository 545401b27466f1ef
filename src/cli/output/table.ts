import { stripVTControlCharacters } from 'node:util';
import type { Colour } from '../run.ts';

/** How a table is written: with its heads or without, and its cells in colours. */
type TableOptions = {
  readonly hasHeads?: boolean;
  readonly style?: (format: Colour, text: string) => string;
  /** What rows before these had. */
  readonly widths?: readonly number[];
};

/** States that ask for somebody's look, and their colours. */
const colours: ReadonlyMap<string, Colour> = new Map([
  ...['creating', 'deleting', 'attaching', 'detaching', 'processing', 'deleted'].map(
    state => [state, 'yellow'] as const,
  ),
  ...['waiting', 'removed'].map(state => [state, 'red'] as const),
]);

/** Rows as columns for people, a line each. */
export function renderTable(
  heads: readonly string[],
  rows: readonly (readonly string[])[],
  { hasHeads = true, style = (_, text) => text, widths = [] }: TableOptions = {},
): string {
  const plain = rows.map(row => row.map(toPlain));
  const lines = [...(hasHeads ? [heads] : []), ...plain];
  const wide = widthsOf(lines, widths);
  return lines
    .map((line, index) => {
      const cells = line.map((cell, column) => {
        const colour = hasHeads && index === 0 ? 'bold' : colours.get(cell.split('+')[0] ?? '');
        const gap = ' '.repeat((wide[column] ?? 0) - cell.length + 2);
        const isLast = column === line.length - 1;
        return `${colour === undefined ? cell : style(colour, cell)}${isLast ? '' : gap}`;
      });
      return `${cells.join('').trimEnd()}\n`;
    })
    .join('');
}

/** How wide each column is, at least as wide as it was. */
export function widthsOf(lines: readonly (readonly string[])[], least: readonly number[] = []): number[] {
  const columns = Math.max(...lines.map(({ length }) => length), 0);
  return Array.from({ length: columns }, (_, column) =>
    Math.max(least[column] ?? 0, ...lines.map(line => line[column]?.length ?? 0)),
  );
}

/** Text of others on one line of a terminal, which it cannot steer. */
export function toPlain(text: string): string {
  return stripVTControlCharacters(text).replaceAll(/\p{Cc}/gu, '?');
}
