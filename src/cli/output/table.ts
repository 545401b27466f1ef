import { toPrintable } from '../../api/http/printable.ts';
import type { Colour } from '../run.ts';
import { maxOf } from '../../lib/numbers.ts';

type TableOptions = {
  readonly hasHeads?: boolean;
  readonly style?: (format: Colour, text: string) => string;
  /** The columns' min widths. */
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
  options?: TableOptions,
): string {
  return openTable(heads, options)(rows);
}

/** Makes a function that renders rows below earlier rows. Columns are as wide as the rows so far, so no row has to be kept. */
export function openTable(
  heads: readonly string[],
  { hasHeads = true, style = (_, text) => text, widths: minWidths = [] }: TableOptions = {},
): (rows: readonly (readonly string[])[]) => string {
  let widths = minWidths;
  let head: readonly string[] | undefined = hasHeads ? heads : undefined;
  return rows => {
    const plain = rows.map(row => row.map(cell => toPrintable(cell, Infinity)));
    const lines = head ? [head, ...plain] : plain;
    widths = widthsOf(lines, widths);
    const text = lines.map(line =>
      renderLine(line, widths, cell => {
        const colour = line === head ? 'bold' : colours.get(cell.split('+')[0] ?? '');
        return colour === undefined ? cell : style(colour, cell);
      }),
    );
    head = undefined;
    return text.join('');
  };
}

function renderLine(
  line: readonly string[],
  widths: readonly number[],
  paint: (cell: string) => string,
): string {
  const cells = line.map((cell, column) => {
    const isLast = column === line.length - 1;
    return `${paint(cell)}${isLast ? '' : ' '.repeat((widths[column] ?? 0) - cell.length + 2)}`;
  });
  return `${cells.join('').trimEnd()}\n`;
}

/** Calculates the width of each column, at least its min width. */
function widthsOf(lines: readonly (readonly string[])[], minWidths: readonly number[]): number[] {
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

/** Makes a table with the rows' keys as heads. `total` also counts rows that the gateway left out of its answer. */
export function renderRows(rows: readonly Readonly<Record<string, string>>[], total: number): string {
  const [first] = rows;
  if (!first) return 'nothing found';
  const table = renderTable(Object.keys(first), rows.map(Object.values)).trimEnd();
  return total > rows.length ? `${table}\nand ${total - rows.length} more` : table;
}
