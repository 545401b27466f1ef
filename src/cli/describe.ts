import type { AnyAttachment, AnySnapshot, AnyVolume, ClusterState } from '../api/admin.ts';
import { asProblem } from '../api/problem.ts';
import type { Health } from '../api/volume.ts';
import { text } from '../lib/parsers.ts';
import type { SettingsOf } from '../lib/settings.ts';
import { connectionSettings, gatewayCommand, type Connection } from './connection.ts';
import { clusterOf, clusterSettings, listAll, toCell, toRows } from './get.ts';
import { kinds, type Entry, type Kind, type KindName, type Query } from './kinds.ts';
import { outputFormats, toOutput } from './output/formats.ts';
import { renderTable } from './output/table.ts';
import type { Commands, Io } from './run.ts';

/** What belongs to a thing, by the kind in which it is listed, and what is asked there. */
type Related = Readonly<Partial<Record<KindName, Query>>>;

/** So many lines of the log are shown. */
const recent = 10;

/** What is shown beside each kind of thing. */
const relations: Readonly<Partial<Record<KindName, (entry: never) => Related>>> = {
  volumes: ({ id }: AnyVolume) => ({
    attachments: { volumeId: id },
    snapshots: { volumeId: id },
    operations: { id: `volume/${id}` },
    audit: { resource: id, limit: recent },
  }),
  snapshots: (snapshot: AnySnapshot) => ({
    operations: { id: heldBy(snapshot) },
    audit: { resource: snapshot.id, limit: recent },
  }),
  attachments: ({ volumeId }: AnyAttachment) => ({ operations: { id: `volume/${volumeId}` } }),
  nodes: ({ cluster, nodeId }: { readonly cluster: string; readonly nodeId: string }) => ({
    attachments: { cluster, nodeId },
    audit: { resource: `${cluster}/${nodeId}`, limit: recent },
  }),
  pools: () => ({}),
  clusters: ({ id }: ClusterState) => ({
    nodes: { cluster: id },
    operations: { cluster: id },
    audit: { cluster: id, limit: recent },
  }),
};

const settings = {
  name: { doc: 'what it is called in lists', parse: text },
  ...clusterSettings,
  output: outputFormats('text', 'json', 'yaml'),
  ...connectionSettings,
} as const;

/** One command for each kind of which there is more to say than a line. */
export const describeCommands: Commands = Object.fromEntries(
  Object.entries(relations).map(([name, relate]) => {
    const kind = kinds[name as KindName];
    const described = { name, kind, relate: relate as (entry: Entry) => Related };
    const command = {
      doc: `${kind.one === 'attachment' ? 'an' : 'a'} ${kind.one} with all that belongs to it`,
      settings,
      operands: ['name'],
    };
    const run = (connection: Connection, values: SettingsOf<typeof settings>): Promise<number> =>
      describe(connection, described, values);
    return [kind.one, { ...gatewayCommand(command, run), alias: name }];
  }),
);

type Described = {
  readonly name: string;
  readonly kind: Kind;
  readonly relate: (entry: Entry) => Related;
};

async function describe(
  connection: Connection,
  { name, kind, relate }: Described,
  values: SettingsOf<typeof settings>,
): Promise<number> {
  const { io } = connection;
  const [entry] = await listAll(connection, kind, kind.ask(values.name, clusterOf(values)));
  if (!entry) {
    io.err(`there is no ${kind.one} "${values.name}"\n`);
    return 2;
  }
  const related: Partial<Record<KindName, readonly Entry[]>> = {};
  for (const [other, query] of Object.entries(relate(entry)) as [KindName, Query][])
    related[other] = await listAll(connection, kinds[other], query);
  const health = name === 'volumes' ? await readHealth(connection, entry as AnyVolume) : undefined;
  if (values.output === 'text') io.out(toText(io, kind, { entry, health, related }));
  else io.out(await toOutput({ [kind.one]: entry, ...(health && { health }), ...related }, values.output));
  return 0;
}

type Found = {
  readonly entry: Entry;
  readonly health: HealthNow | undefined;
  readonly related: Partial<Record<KindName, readonly Entry[]>>;
};

function toText({ style }: Io, kind: Kind, { entry, health, related }: Found): string {
  const nowMs = Date.now();
  const cells = kind.columns.map(column => [`${column.head}:`, toCell(column, entry, nowMs)]);
  const facts = [...cells, ...(health ? [['health:', toSentence(health)]] : [])];
  const known = facts.filter(([, cell]) => cell !== '');
  const parts = (Object.entries(related) as [KindName, readonly Entry[]][]).map(([other, entries]) => {
    const { heads, rows } = toRows(kinds[other], false, entries);
    const table = rows.length > 0 ? renderTable(heads, rows, { style }) : 'none\n';
    return `\n${style('bold', `${other}:`)}\n${table.trimEnd().replaceAll(/^/gm, '  ')}\n`;
  });
  return [renderTable([], known, { hasHeads: false, style }), ...parts].join('');
}

/** What a gateway claims while it works on the snapshot. */
export function heldBy({ id, groupId }: AnySnapshot): string {
  return groupId === undefined ? `snapshot/${id}` : `group/${groupId}`;
}

/** What the storage says of a volume now, or why it says nothing. */
export type HealthNow = Pick<Health, 'entries'> | { readonly unknown: string };

/** Asks for it; no failure of that is one of the command. */
export async function readHealth(
  { client, call }: Connection,
  { id, state }: Pick<AnyVolume, 'id' | 'state'>,
): Promise<HealthNow> {
  if (state !== 'ready') return { unknown: `it is ${state}` };
  try {
    return { entries: (await client.getAnyVolumeHealth({ volumeId: id }, call())).entries };
  } catch (error) {
    const { code, detail } = asProblem(error);
    return { unknown: code === 'UNIMPLEMENTED' ? 'its pool does not say' : detail };
  }
}

function toSentence(health: HealthNow): string {
  if ('unknown' in health) return `not known: ${health.unknown}`;
  if (health.entries.length === 0) return 'nothing is known to be wrong';
  return health.entries.map(({ status, message }) => `${status}: ${message}`).join('; ');
}
