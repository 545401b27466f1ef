import { durationMs, integer, list, text } from '../../lib/parsers.ts';
import { onOrOff, type SettingsOf } from '../../lib/settings.ts';
import { suggest } from '../../lib/words/suggest.ts';
import { connectionSettings, gatewayCommand, type Connection } from '../connection.ts';
import type { Entry, Kind } from '../kind.ts';
import { kinds } from '../kinds/index.ts';
import { clusterOf, clusterSettings, findClusterFault, listAll, type Listing } from '../listing.ts';
import { readableNumbers } from '../output/values.ts';
import type { Commands } from '../run.ts';
import { isTable, listFormat, printEntries, viewOf } from './get/output.ts';
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

async function get(connection: Connection, { plural, kind }: NamedKind, values: Values): Promise<number> {
  const { io } = connection;
  const sort = toSort(kind, values['sort-by']);
  const find = finderOf(connection, kind, values);
  // An unknown column is an error even if there are no entries.
  viewOf(kind, values);
  const { entries, missing, isOne, fault } = await find();
  const faults =
    fault === undefined ? missing.map(name => missingFault(name, { plural, kind }, values)) : [fault];
  for (const one of faults) io.err(`${one}\n`);
  if (fault !== undefined) return 2;
  const output = { plural, kind, values };
  if (values.watch) {
    const again = async () => sort((await find()).entries);
    return watch(io, { ...output, first: sort(entries), everyMs: values['watch-every'], find: again });
  }
  if (entries.length === 0 && missing.length === 0 && isTable(values))
    io.err(`no ${kind.isLog ? 'entries' : plural} found\n`);
  else if (!isOne || entries.length > 0) await printEntries(io, output, { entries: sort(entries), isOne });
  return missing.length > 0 ? 2 : 0;
}

function missingFault(name: string, { plural, kind }: NamedKind, { selector }: Values): string {
  const which = selector === undefined ? '' : ` with ${selector.join(',')}`;
  return `there is no ${kind.one} "${name}"${which}; list all with fairlead get ${plural} -A`;
}

type FindResult = {
  readonly entries: readonly Entry[];
  /** Names without any entry. */
  readonly missing: readonly string[];
  /** True for a query by one id: its result is printed as one object in place of a list. */
  readonly isOne: boolean;
  /** A sentence about the chosen cluster, if it does not exist. */
  readonly fault: string | undefined;
};

/** Makes the function that finds the entries. A faulty selector is an error before any call. */
function finderOf(connection: Connection, kind: Kind, values: Values): () => Promise<FindResult> {
  const { names = [], limit, since, until } = values;
  const { cluster = clusterOf(values), matches } = toSelection(kind, values.selector);
  const bounds: Listing = {
    ...(limit !== undefined && { limit }),
    ...(since !== undefined && { since }),
    ...(until !== undefined && { until }),
    ...(matches && { matches }),
  };
  const queries =
    names.length > 0
      ? names.map(name => kind.ask(name, cluster))
      : [cluster === undefined ? {} : { cluster }];
  return async () => {
    const found: (readonly Entry[])[] = [];
    for (const query of queries) found.push(await listAll(connection, kind, { ...bounds, ...query }));
    const entries = found.flat();
    const isUnknown = entries.length === 0 && cluster !== undefined;
    return {
      entries,
      missing: names.filter((_, index) => found[index]?.length === 0),
      isOne: names.length === 1 && queries[0]?.id !== undefined,
      fault: isUnknown ? await findClusterFault(connection, cluster) : undefined,
    };
  };
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
  const view = { nowMs: Date.now(), numbers: readableNumbers };
  const order = (one: Entry, other: Entry): number => {
    const [a, b] = [column.of(one, view), column.of(other, view)];
    if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined);
    const difference =
      typeof a === 'number' && typeof b === 'number' ? a - b : byText.compare(String(a), String(b));
    return dash ? -difference : difference;
  };
  return entries => entries.toSorted(order);
}
