import { choice } from '../../../lib/parsers.ts';
import type { SettingsOf } from '../../../lib/settings.ts';
import { memberOf, type Column, type Entry, type Kind } from '../../kind.ts';
import { toCsv } from '../../output/csv.ts';
import { toJson, toOutput } from '../../output/formats.ts';
import { narrowOf, toRows } from '../../output/rows.ts';
import { openTable } from '../../output/table.ts';
import { exactNumbers, readableNumbers } from '../../output/values.ts';
import type { Io } from '../../run.ts';
import { toCustomColumns } from './columns.ts';

const formats = ['table', 'wide', 'csv', 'json', 'yaml', 'name'] as const;
const custom = 'custom-columns=';

const readFormat = (value: string): string => {
  if (value.startsWith(custom) && value.length > custom.length) return value;
  if (formats.some(format => format === value)) return value;
  throw new Error(`"${value}" is not one of ${formats.join(', ')}, ${custom}COLUMN,…`);
};

/** The setting for the output format of lists. */
export const listFormat = {
  doc: `output format: ${formats.join(', ')}, or ${custom}COLUMN,… with columns of the wide table, or HEAD:.member for a member in JSON`,
  parse: Object.assign(readFormat, { words: choice(...formats, custom).words }),
  default: 'table',
  short: 'o',
} as const;

/** The settings that decide how entries are printed. */
type OutputValues = SettingsOf<{
  readonly output: typeof listFormat;
  readonly 'no-headers': { readonly doc: string; readonly parse: (text: string) => boolean };
  readonly bytes: { readonly doc: string; readonly parse: (text: string) => boolean };
}>;

/** The kind of the entries to print, and the settings that say how. */
export type Output = {
  readonly plural: string;
  readonly kind: Kind;
  readonly values: OutputValues;
};

export type Change = { readonly event: 'added' | 'changed' | 'removed'; readonly entry: Entry };

/** Returns true for the formats that people read. */
export function isTable({ output }: OutputValues): boolean {
  return output === 'table' || output === 'wide' || output.startsWith(custom);
}

/** Chooses the columns and the form of numbers. An unknown column is an error. */
export function viewOf({ columns, ...kind }: Kind, { output, bytes }: OutputValues) {
  const exact = output === 'csv' ? exactNumbers : { ...readableNumbers, bytes: exactNumbers.bytes };
  const numbers = bytes || output === 'csv' ? exact : readableNumbers;
  return { numbers, columns: chosen() };

  function chosen(): readonly Column[] {
    if (output.startsWith(custom)) return toCustomColumns({ ...kind, columns }, output.slice(custom.length));
    return output === 'table' ? narrowOf(columns) : columns;
  }
}

/** Prints a list page by page, and holds no page. `end` completes it, or prints a list without entries. */
type Printer = {
  print(entries: readonly Entry[]): void | Promise<void>;
  end(): void | Promise<void>;
};

/** Opens the printer of a list. With `isOne` the only entry is printed as one object in place of a list. */
export function openPrinter(io: Io, output: Output, isOne: boolean): Printer {
  const { kind, values } = output;
  const format = values.output;
  if (format === 'json' || format === 'yaml')
    return isOne
      ? { print: async ([entry]) => io.out(await toOutput(entry, format)), end: () => {} }
      : openDocument(io, memberOf(output.plural), format);
  if (format === 'name')
    return { print: entries => io.out(entries.map(({ id }) => `${id}\n`).join('')), end: () => {} };
  const { columns, numbers } = viewOf(kind, values);
  const printRows = rowPrinter(io, values, toRows(columns, []).heads);
  const print = (entries: readonly Entry[]): void => printRows(toRows(columns, entries, numbers).rows);
  return { print, end: () => print([]) };
}

/** Opens the printer of an object whose only member is the list. */
function openDocument(io: Io, plural: string, format: 'json' | 'yaml'): Printer {
  // The text around the entries.
  const [head, between, tail] =
    format === 'json' ? [`{\n  "${plural}": [\n`, ',\n', '\n  ]\n}\n'] : [`${plural}:\n`, '', ''];
  let next = head;
  return {
    async print(entries) {
      const whole = await toOutput({ [plural]: entries }, format);
      io.out(next + whole.slice(head.length, whole.length - tail.length));
      next = between;
    },
    end: async () => io.out(next === head ? await toOutput({ [plural]: [] }, format) : tail),
  };
}

/** Makes a function that prints rows below earlier rows, as CSV or as a table. */
function rowPrinter(io: Io, { output, 'no-headers': noHeads }: OutputValues, heads: readonly string[]) {
  const render = openTable(heads, { hasHeads: !noHeads, style: io.style });
  let first = noHeads ? [] : [heads];
  return (rows: readonly (readonly string[])[]): void => {
    io.out(output === 'csv' ? toCsv([...first, ...rows]) : render(rows));
    first = [];
  };
}

/** Makes a function that prints changes, each on a line of its own. */
export function changePrinter(io: Io, { kind, values }: Output): (changes: readonly Change[]) => void {
  const { output } = values;
  const { columns, numbers } = viewOf(kind, values);
  const printRows = rowPrinter(io, values, ['event', ...toRows(columns, []).heads]);
  return changes => {
    if (!isTable(values) && output !== 'csv') {
      const toLine = ({ event, entry }: Change): string =>
        output === 'name' ? `${event} ${entry.id}` : toJson({ event, entry }, 0);
      return io.out(changes.map(change => `${toLine(change)}\n`).join(''));
    }
    const entries = changes.map(({ entry }) => entry);
    const { rows } = toRows(columns, entries, numbers);
    printRows(rows.map((row, index) => [changes[index]?.event ?? ''].concat(row)));
  };
}
