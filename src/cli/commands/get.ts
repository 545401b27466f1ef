import { pause } from '../../lib/concurrency.ts';
import { durationMs, integer, list, text } from '../../lib/parsers.ts';
import { onOrOff, type SettingsOf } from '../../lib/settings.ts';
import { suggest } from '../../lib/words/suggest.ts';
import { connectionSettings, gatewayCommand, type Connection } from '../connection.ts';
import { contextSettings } from './contexts.ts';
import { kinds, type Column, type Entry, type Kind, type Query } from '../kinds.ts';
import { outputFormats, toJson, toOutput } from '../output/formats.ts';
import { renderTable, widthsOf } from '../output/table.ts';
import type { Commands } from '../run.ts';

export const clusterSettings = {
  cluster: contextSettings.cluster,
  'all-clusters': { doc: 'show all clusters, even if the context has a cluster', ...onOrOff, short: 'A' },
} as const;

const settings = {
  names: { doc: 'show these names only', parse: list(text), optional: true, isList: true },
  ...clusterSettings,
  output: outputFormats('table', 'wide', 'json', 'yaml', 'name'),
  'sort-by': {
    doc: 'sort by this column, such as size; with a dash in front, as -size, in descending order',
    parse: text,
    optional: true,
  },
  limit: { doc: 'max entries to list', parse: integer(1, 1_000_000), optional: true },
  'no-headers': { doc: 'leave out the head of the table', ...onOrOff },
  watch: {
    doc: 'keep running, and print entries that are added, changed or removed',
    ...onOrOff,
    short: 'w',
  },
  'watch-every': { doc: 'interval of --watch', parse: durationMs, default: '2s' },
  ...connectionSettings,
} as const;

/** The settings of a command that lists a log. */
const logSettings = {
  ...settings,
  limit: { ...settings.limit, default: '100' },
  since: {
    doc: 'entries from this time on: an ISO 8601 time, or an age such as 1h',
    parse: moment,
    optional: true,
  },
  until: {
    doc: 'entries before this time: an ISO 8601 time, or an age such as 1h',
    parse: moment,
    optional: true,
  },
} as const;

/** Reads a point in time, given as such or as an age, and returns it in ISO 8601. */
function moment(value: string): string {
  const ms = /^\d+[a-z]+$/.test(value) ? Date.now() - durationMs(value) : Date.parse(value);
  if (Number.isNaN(ms))
    throw new Error(`"${value}" is neither a time such as 2026-02-01T12:00:00Z nor an age such as 1h`);
  return new Date(ms).toISOString();
}

type Values = SettingsOf<typeof settings> & Partial<Pick<SettingsOf<typeof logSettings>, 'since' | 'until'>>;
type NamedKind = { readonly plural: string; readonly kind: Kind };

export const getCommands: Commands = Object.fromEntries(
  Object.entries(kinds).map(([plural, kind]) => {
    const own = { doc: kind.doc, settings: kind.isLog ? logSettings : settings, operands: ['names'] };
    const command = gatewayCommand<typeof settings>(own, (connection, values) =>
      get(connection, { plural, kind }, values),
    );
    return [plural, { ...command, aliases: kind.aliases }];
  }),
);

async function get(connection: Connection, named: NamedKind, values: Values): Promise<number> {
  const sort = toSort(named.kind, values['sort-by']);
  const { entries, missing, isOne } = await find(connection, named.kind, values);
  const { err } = connection.io;
  for (const name of missing)
    err(`there is no ${named.kind.one} "${name}"; list all with fairlead get ${named.plural} -A\n`);
  if (values.watch) return watch(connection, { ...named, values, first: sort(entries) });
  if (entries.length === 0 && missing.length === 0 && isTable(values))
    err(`no ${named.kind.isLog ? 'entries' : named.plural} found\n`);
  else if (!isOne || entries.length > 0) await write(connection, { ...named, values, isOne }, sort(entries));
  return missing.length > 0 ? 2 : 0;
}

type FindResult = {
  readonly entries: readonly Entry[];
  /** Names without any entry. */
  readonly missing: readonly string[];
  /** True for a query by one id: its result is printed as one object in place of a list. */
  readonly isOne: boolean;
};

async function find(connection: Connection, kind: Kind, values: Values): Promise<FindResult> {
  const { names = [], limit, since, until } = values;
  const cluster = clusterOf(values);
  const bounds = {
    ...(limit !== undefined && { limit }),
    ...(since !== undefined && { since }),
    ...(until !== undefined && { until }),
  };
  if (names.length === 0) {
    const entries = await listAll(connection, kind, {
      ...bounds,
      ...(cluster !== undefined && { cluster }),
    });
    return { entries, missing: [], isOne: false };
  }
  const queries = names.map(name => kind.ask(name, cluster));
  const found: (readonly Entry[])[] = [];
  for (const query of queries) found.push(await listAll(connection, kind, { ...bounds, ...query }));
  const missing = names.filter((_, index) => found[index]?.length === 0);
  return { entries: found.flat(), missing, isOne: queries.length === 1 && queries[0]?.id !== undefined };
}

/** Returns the chosen cluster; undefined for all. */
export function clusterOf(values: SettingsOf<typeof clusterSettings>): string | undefined {
  return values['all-clusters'] ? undefined : values.cluster;
}

/** Lists all entries that match the query, at most `limit`, page by page. */
export async function listAll<E extends Entry>(
  { client, call }: Connection,
  kind: Kind<E>,
  { limit = Infinity, ...query }: Query,
): Promise<readonly E[]> {
  const entries: E[] = [];
  for (let pageToken: string | undefined = ''; pageToken !== undefined && entries.length < limit;) {
    const left = limit - entries.length;
    const pageQuery = { ...query, pageToken, ...(left < Infinity && { limit: left }) };
    const page = await kind.page(client, pageQuery, call());
    entries.push(...page.entries);
    pageToken = page.nextPageToken;
  }
  return entries.slice(0, limit);
}

type Sort = (entries: readonly Entry[]) => readonly Entry[];

function toSort({ columns }: Kind, by: string | undefined): Sort {
  if (by === undefined) return entries => entries;
  const [, dash, head = ''] = /^(-?)(.*)$/.exec(by.toLowerCase()) ?? [];
  const column = columns.find(one => one.head === head);
  const heads = columns.map(one => one.head);
  if (!column)
    throw new Error(
      `--sort-by: there is no column "${head}"${suggest(head, heads)}; the columns are ${heads.join(', ')}`,
    );
  const byText = new Intl.Collator('en', { numeric: true });
  const nowMs = Date.now();
  const order = (one: Entry, other: Entry): number => {
    const [a, b] = [column.of(one, nowMs), column.of(other, nowMs)];
    if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined);
    const difference =
      typeof a === 'number' && typeof b === 'number' ? a - b : byText.compare(String(a), String(b));
    return dash ? -difference : difference;
  };
  return entries => entries.toSorted(order);
}

/** The kind of the entries to print, and the settings that say how. */
type Output = NamedKind & { readonly values: Values; readonly isOne?: boolean };

function isTable({ output }: Values): boolean {
  return output === 'table' || output === 'wide';
}

async function write(
  { io }: Connection,
  { plural, kind, values, isOne }: Output,
  entries: readonly Entry[],
): Promise<void> {
  const { output } = values;
  if (output === 'json' || output === 'yaml')
    return io.out(await toOutput(isOne ? entries[0] : { [plural]: entries }, output));
  if (output === 'name') return io.out(entries.map(({ id }) => `${id}\n`).join(''));
  const { heads, rows } = toRows(kind, output === 'wide', entries);
  io.out(renderTable(heads, rows, { hasHeads: !values['no-headers'], style: io.style }));
}

/** Makes a table of entries: the heads of the kind's columns, and a row of cells for each entry. */
export function toRows(kind: Kind, isWide: boolean, entries: readonly Entry[]) {
  const nowMs = Date.now();
  const columns = kind.columns.filter(column => isWide || !column.isWide);
  const rows = entries.map(entry => columns.map(column => toCell(column, entry, nowMs)));
  return { heads: columns.map(({ head }) => head), rows };
}

export function toCell(column: Column, entry: Entry, nowMs: number): string {
  const value = column.of(entry, nowMs);
  return typeof value === 'number' && column.show ? column.show(value) : String(value ?? '');
}

type Change = { readonly event: 'added' | 'changed' | 'removed'; readonly entry: Entry };

/**
 * Prints each change on a line of its own, starting with the `first` entries as added, until the signal. When the gateway
 * does not answer, prints the error once and tries again.
 */
async function watch(
  connection: Connection,
  { first, ...output }: Output & { readonly first: readonly Entry[] },
): Promise<number> {
  const { kind, values } = output;
  const { signal, err } = connection.io;
  const writeChanges = changeWriter(connection, output);
  let known = new Map<string, Entry>();
  let entries = first;
  let fault = '';
  for (;;) {
    const now = new Map(entries.map(entry => [entry.id, entry]));
    const changes = changesOf(known, now);
    // Entries of a log are never removed: an entry that is missing now is beyond the limit. The newest comes first.
    writeChanges(kind.isLog ? changes.filter(({ event }) => event === 'added').toReversed() : changes);
    known = now;
    try {
      await pause(values['watch-every'], signal);
      ({ entries } = await find(connection, kind, values));
      fault = '';
    } catch (error) {
      if (signal?.aborted) return 0;
      const { message } = error as Error;
      if (message !== fault) err(`${message}; trying again\n`);
      fault = message;
    }
  }
}

function changesOf(known: ReadonlyMap<string, Entry>, now: ReadonlyMap<string, Entry>): readonly Change[] {
  const changes = [...now.values()].flatMap((entry): readonly Change[] => {
    const before = known.get(entry.id);
    if (!before) return [{ event: 'added', entry }];
    return JSON.stringify(before) === JSON.stringify(entry) ? [] : [{ event: 'changed', entry }];
  });
  const removed = [...known.values()].filter(({ id }) => !now.has(id));
  return [...changes, ...removed.map(entry => ({ event: 'removed' as const, entry }))];
}

function changeWriter({ io }: Connection, { kind, values }: Output): (changes: readonly Change[]) => void {
  let widths: readonly number[] = [];
  let hasHeads = !values['no-headers'];
  return changes => {
    if (!isTable(values)) {
      const isName = values.output === 'name';
      const toLine = ({ event, entry }: Change): string =>
        isName ? `${event} ${entry.id}` : toJson({ event, entry }, 0);
      return io.out(changes.map(change => `${toLine(change)}\n`).join(''));
    }
    const { heads, rows } = toRows(
      kind,
      values.output === 'wide',
      changes.map(({ entry }) => entry),
    );
    const lines = rows.map((row, index) => [changes[index]?.event ?? ''].concat(row));
    io.out(renderTable(['event', ...heads], lines, { hasHeads, style: io.style, widths }));
    widths = widthsOf([['event', ...heads], ...lines], widths);
    hasHeads = false;
  };
}
