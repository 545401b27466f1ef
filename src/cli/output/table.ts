import { toPrintable } from '../../api/http/printable.ts';
import type { Colour } from '../run.ts';
import { maxOf } from '../../lib/numbers.ts';

type TableOptions = {
  readonly hasHeads?: boolean;
  readonly style?: (format: Colour, text: string) => string;
  /** The columns' min widths, so that rows line up with rows printed before. */
  readonly widths?: readonly number[];
};

/** Colours of states that deserve attention. */
const colours: ReadonlyMap<string, Colour> = new Map([
  ...['creating', 'deleting', 'attaching', 'detaching', 'processing', 'deleted'].map(
    state => [state, 'yellow'] as const,
  ),
  ...['waiting', 'removed'].map(state => [state, 'red'] as const),
]);

/** Renders rows as lines with aligned columns. */
export function renderTable(
  heads: readonly string[],
  rows: readonly (readonly string[])[],
  { hasHeads = true, style = (_, text) => text, widths = [] }: TableOptions = {},
): string {
  const plain = rows.map(row => row.map(cell => toPrintable(cell, Infinity)));
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

/** Calculates the width of each column, at least its min width. */
export function widthsOf(lines: readonly (readonly string[])[], minWidths: readonly number[] = []): number[] {
  const columns = maxOf(
    lines.map(({ length }) => length),
    0,
  );
  return Array.from({ length: columns }, (_, column) =>
    maxOf(
      lines.map(line => line[column]?.length ?? 0),
      minWidths[column],
    ),
  );
}
