import { durationMs, integer, list, text } from '../../lib/parsers.ts';
import { onOrOff, type SettingsOf } from '../../lib/settings.ts';
import { suggest } from '../../lib/words/suggest.ts';
import { connectionSettings, gatewayCommand, type Connection } from '../connection.ts';
import type { Entry, Kind } from '../kind.ts';
import { kinds } from '../kinds/index.ts';
import { clusterOf, clusterSettings } from '../cluster-settings.ts';
import { findClusterFault, listPages, type Listing } from '../listing.ts';
import { readOrder } from '../output/order.ts';
import type { Commands } from '../run.ts';
import { isTable, listFormat, openPrinter, viewOf } from './get/output.ts';
import { toSelection } from './get/select.ts';
import { watch } from './get/watch.ts';

const settings = {
  names: { doc: 'show these names only', parse: list(text), optional: true, isList: true },
  ...clusterSettings,
  selector: {
    doc: 'show only entries that meet all conditions, such as cluster=east,pool=fast,state!=ready; a column of the wide table with = or !=',
    parse: list(text),
    optional: true,
    short: 'l',
  },
  output: listFormat,
  bytes: { doc: 'show sizes in bytes, without a unit', ...onOrOff },
  'sort-by': {
    doc: 'sort by this column, such as size; with a dash in front, as -size, in descending order; with --limit only for a log, and for all volumes by size or age',
    parse: text,
    optional: true,
  },
  limit: {
    doc: 'max entries to list, by id; of a log the newest',
    parse: integer(1, 1_000_000),
    optional: true,
  },
  'no-headers': { doc: 'leave out the head of the table', ...onOrOff },
  watch: {
    doc: 'keep running, and print entries that are added, changed or removed',
    ...onOrOff,
    short: 'w',
  },
  'watch-every': { doc: 'interval of --watch', parse: durationMs, default: '2s' },
  ...connectionSettings,
} as const;

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
    const own = {
      doc: kind.doc,
      settings: kind.isLog ? logSettings : settings,
      operands: ['names'],
      exits: { 2: 'a name, or the cluster, does not exist' },
    };
    const command = gatewayCommand<typeof settings>(own, (connection, values) =>
      get(connection, { plural, kind }, values),
    );
    return [plural, { ...command, aliases: kind.aliases }];
  }),
);

async function get(connection: Connection, named: NamedKind, values: Values): Promise<number> {
  const { io } = connection;
  const { plural, kind } = named;
  // Entries that are named are few, and their columns line up.
  const { find, isOne, isOrdered, cluster } = finderOf(connection, kind, values);
  const sort = isOrdered ? undefined : (toSort(kind, values) ?? (values.names ? unsorted : undefined));
  // An unknown column is an error even if there are no entries.
  viewOf(kind, values);
  const output = { plural, kind, values };
  const missing: string[] = [];
  /** Prints the names that were not found. Returns false if there is no such cluster. */
  const report = async (count: number): Promise<boolean> => {
    const isEmpty = count === 0 && cluster !== undefined;
    const fault = isEmpty ? await findClusterFault(connection, cluster) : undefined;
    const faults = fault === undefined ? missing.map(name => missingFault(name, named, values)) : [fault];
    for (const one of faults) io.err(`${one}\n`);
    return fault === undefined;
  };
  if (values.watch) {
    const first = await collect(find(missing), sort);
    if (!(await report(first.length))) return 2;
    const again = () => collect(find(), sort);
    return watch(io, { ...output, first, everyMs: values['watch-every'], find: again });
  }
  const printer = openPrinter(io, output, isOne);
  let count = 0;
  for await (const page of sorted(find(missing), sort)) {
    count += page.length;
    await printer.print(page);
  }
  if (!(await report(count))) return 2;
  const isNone = count === 0 && (isOne || isTable(values));
  if (!isNone) await printer.end();
  else if (missing.length === 0) io.err(`no ${kind.isLog ? 'entries' : plural} found\n`);
  return missing.length > 0 ? 2 : 0;
}

function missingFault(name: string, { plural, kind }: NamedKind, { selector }: Values): string {
  const which = selector === undefined ? '' : ` with ${selector.join(',')}`;
  return `there is no ${kind.one} "${name}"${which}; list all with fairlead get ${plural} -A`;
}

type Pages = AsyncIterable<readonly Entry[]>;

type Finder = {
  /** Finds the entries, and adds names without any entry to `missing`. */
  readonly find: (missing?: string[]) => Pages;
  /** True for a query by one id: its result is printed as one object in place of a list. */
  readonly isOne: boolean;
  /** True if the gateway lists the entries in the order of `--sort-by`. */
  readonly isOrdered: boolean;
  readonly cluster: string | undefined;
};

/** Makes the function that finds the entries. A faulty selector is an error before any call. */
function finderOf(connection: Connection, kind: Kind, values: Values): Finder {
  const { names = [], limit, since, until } = values;
  const { query: selected, matches } = toSelection(kind, values.selector);
  const { cluster = clusterOf(values) } = selected;
  const isWhole = names.length === 0 && cluster === undefined && Object.keys(selected).length === 0;
  const orderBy = isWhole ? gatewayOrder(kind, values) : undefined;
  const bounds: Listing = {
    ...(orderBy !== undefined && { orderBy }),
    ...(limit !== undefined && { limit }),
    ...(since !== undefined && { since }),
    ...(until !== undefined && { until }),
    ...(matches && { matches }),
    ...selected,
  };
  const queries =
    names.length > 0
      ? names.map(name => kind.ask(name, cluster))
      : [cluster === undefined ? {} : { cluster }];
  async function* find(missing: string[] = []): AsyncGenerator<readonly Entry[], void> {
    for (const [index, query] of queries.entries()) {
      let isMissing = true;
      for await (const page of listPages(connection, kind, { ...bounds, ...query })) {
        isMissing = false;
        yield page;
      }
      if (isMissing) missing.push(...names.slice(index, index + 1));
    }
  }
  return {
    find,
    isOne: names.length === 1 && queries[0]?.id !== undefined,
    isOrdered: orderBy !== undefined,
    cluster,
  };
}

/** Returns the order for a limited list of all entries, if the gateway has it. */
function gatewayOrder({ orders }: Kind, { limit, 'sort-by': by }: Values) {
  return limit === undefined ? undefined : orders?.find(order => order === by?.toLowerCase());
}

type Sort = (entries: readonly Entry[]) => readonly Entry[];

const unsorted: Sort = entries => entries;

/** Sorts all entries at once. Without an order each page is passed on as it comes. */
async function* sorted(pages: Pages, sort: Sort | undefined): Pages {
  if (!sort) return yield* pages;
  const entries = await collect(pages, sort);
  if (entries.length > 0) yield entries;
}

async function collect(pages: Pages, sort = unsorted): Promise<readonly Entry[]> {
  return sort((await Array.fromAsync(pages)).flat());
}

/** Makes the order of `--sort-by`; undefined without it. The gateway itself lists by id, and a log by time. */
function toSort({ columns, isLog }: Kind, { 'sort-by': by, limit }: Values): Sort | undefined {
  if (by === undefined) return undefined;
  // The limit of a log chooses the newest entries. That of any other list would choose the first ids.
  if (limit !== undefined && !isLog)
    throw new Error(
      '--limit: the gateway lists by id, so --sort-by would sort only the first ids; leave out --limit, and cut the output, as with | head -n 11',
    );
  const order = readOrder(columns, by.toLowerCase());
  const head = by.toLowerCase().replace(/^-/, '');
  const heads = columns.map(one => one.head);
  if (!order)
    throw new Error(
      `--sort-by: there is no column "${head}"${suggest(head, heads)}; the columns are ${heads.join(', ')}`,
    );
  return entries => entries.toSorted(order);
}
