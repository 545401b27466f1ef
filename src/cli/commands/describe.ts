import type { AdminVolume } from '../../api/admin.ts';
import { text } from '../../lib/parsers.ts';
import type { SettingsOf } from '../../lib/settings.ts';
import { connectionSettings, gatewayCommand, type Connection } from '../connection.ts';
import { memberOf, type Entry, type Kind, type Query } from '../kind.ts';
import { kinds, type KindName } from '../kinds/index.ts';
import { clusterOf, ownerSettings } from '../cluster-settings.ts';
import { findClusterFault, listAll } from '../listing.ts';
import { outputFormats, toOutput } from '../output/formats.ts';
import { narrowOf, toCell, toRows } from '../output/rows.ts';
import { renderTable } from '../output/table.ts';
import { readableNumbers } from '../output/values.ts';
import {
  readHealth,
  relations,
  titleOf,
  toSentence,
  type CurrentHealth,
  type RelatedQueries,
} from '../related.ts';
import type { Commands, Io } from '../run.ts';

const settings = {
  name: { doc: 'its name, as `fairlead get` prints it', parse: text },
  ...ownerSettings,
  output: outputFormats('text', 'json', 'yaml'),
  ...connectionSettings,
} as const;

/** One command for each kind that can be described. */
export const describeCommands: Commands = Object.fromEntries(
  Object.entries(relations).map(([name, relate]) => {
    const kind = kinds[name as KindName];
    const target = { name, kind, relate: relate as (entry: Entry) => RelatedQueries };
    const command = {
      doc: `shows ${kind.one === 'attachment' ? 'an' : 'a'} ${kind.one} and everything related to it`,
      settings,
      operands: ['name'],
      exits: { 2: 'it does not exist' },
    };
    const run = (connection: Connection, values: SettingsOf<typeof settings>): Promise<number> =>
      describe(connection, target, values);
    return [
      kind.one,
      { ...gatewayCommand(command, run), aliases: [name, ...kind.aliases.filter(one => one !== kind.one)] },
    ];
  }),
);

type DescribeTarget = {
  readonly name: string;
  readonly kind: Kind;
  readonly relate: (entry: Entry) => RelatedQueries;
};

async function describe(
  connection: Connection,
  { name, kind, relate }: DescribeTarget,
  values: SettingsOf<typeof settings>,
): Promise<number> {
  const { io } = connection;
  const cluster = clusterOf(values);
  const [entry] = await listAll(connection, kind, kind.ask(values.name, cluster));
  if (!entry) {
    const fault = cluster === undefined ? undefined : await findClusterFault(connection, cluster);
    const missing = `there is no ${kind.one} "${values.name}"; list all with fairlead get ${name} -A`;
    io.err(`${fault ?? missing}\n`);
    return 2;
  }
  const related: Partial<Record<KindName, readonly Entry[]>> = {};
  for (const [other, query] of Object.entries(relate(entry)) as [KindName, Query][])
    related[other] = await listAll(connection, kinds[other], query);
  const health = name === 'volumes' ? await readHealth(connection, entry as AdminVolume) : undefined;
  if (values.output === 'text') io.out(toText(io, { name, kind }, { entry, health, related }));
  else {
    const members = Object.fromEntries(
      Object.entries(related).map(([other, list]) => [memberOf(titleOf(name, other)), list]),
    );
    io.out(await toOutput({ [kind.one]: entry, ...(health && { health }), ...members }, values.output));
  }
  return 0;
}

type Description = {
  readonly entry: Entry;
  readonly health: CurrentHealth | undefined;
  readonly related: Partial<Record<KindName, readonly Entry[]>>;
};

function toText(
  { style }: Io,
  { name, kind }: Pick<DescribeTarget, 'name' | 'kind'>,
  { entry, health, related }: Description,
): string {
  const view = { nowMs: Date.now(), numbers: readableNumbers };
  const cells = kind.columns.map(column => [`${column.head}:`, toCell(column, entry, view)]);
  const facts = [...cells, ...(health ? [['health:', toSentence(health)]] : [])];
  const filled = facts.filter(([, cell]) => cell !== '');
  const parts = (Object.entries(related) as [KindName, readonly Entry[]][]).map(([other, entries]) => {
    const { heads, rows } = toRows(narrowOf(kinds[other].columns), entries);
    const table = rows.length > 0 ? renderTable(heads, rows, { style }) : 'none\n';
    return `\n${style('bold', `${titleOf(name, other)}:`)}\n${table.trimEnd().replaceAll(/^/gm, '  ')}\n`;
  });
  return [renderTable([], filled, { hasHeads: false, style }), ...parts].join('');
}
