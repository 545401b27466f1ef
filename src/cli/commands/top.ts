import { pause } from '../../lib/concurrency.ts';
import { durationMs, integer } from '../../lib/parsers.ts';
import type { SettingsOf } from '../../lib/settings.ts';
import { connectionSettings, gatewayCommand, type Connection } from '../connection.ts';
import { kinds } from '../kinds/index.ts';
import { clusterOf, clusterSettings } from '../cluster-settings.ts';
import { findClusterFault, listAll } from '../listing.ts';
import { narrowOf, toRows } from '../output/rows.ts';
import { renderTable } from '../output/table.ts';

const settings = {
  ...clusterSettings,
  every: {
    doc: 'refresh interval; in a terminal only while the gateway does not tell its changes',
    parse: durationMs,
    default: '2s',
  },
  times: {
    doc: 'number of refreshes; default: unlimited in a terminal, else one',
    parse: integer(1, 1_000_000),
    optional: true,
  },
  ...connectionSettings,
} as const;

type Values = SettingsOf<typeof settings>;

/** The kinds in the order of the screen, the most urgent first. */
const shownKinds = ['operations', 'queues', 'pools', 'clusters'] as const;
/** Lines of each kind in a terminal; elsewhere all are shown. */
const maxLines = 20;

/**
 * While the gateway tells its changes, the screen is refreshed at each of them, and after this number of intervals
 * without one: a storage that fails shows when it is asked.
 */
const toldIntervals = 5;

/** Shows the gateway's current work. In a terminal it refreshes the screen in place, at each change. */
export const topCommand = gatewayCommand({ settings }, async (connection, values) => {
  const { io } = connection;
  // Overwriting the old screen line by line does not flicker as clearing it first does.
  const { steer = text => text } = io;
  const [home, lineEnd, clearBelow] = ['\u001B[H', '\u001B[K\n', '\u001B[J'].map(steer);
  const { times = io.isTerminal ? Infinity : 1, every } = values;
  // A script gets its screens at equal intervals.
  await using changes = io.isTerminal && times > 1 ? connection.listen() : undefined;
  const intervals = { pollMs: every, toldMs: toldIntervals * every };
  for (let time = 1; !io.signal?.aborted; time++) {
    const screen = await render(connection, values).catch((error: Error) => {
      // A person who watches wants to see the gateway come back; a script needs the failure.
      if (!io.isTerminal) throw error;
      return `${error.message}; trying again\n`;
    });
    io.out(io.isTerminal ? `${home}${screen.replaceAll('\n', lineEnd ?? '\n')}${clearBelow}` : screen);
    if (time >= times) break;
    await (changes?.wait(intervals, io.signal) ?? pause(every, io.signal)).catch(() => undefined);
  }
});

async function render(connection: Connection, values: Values): Promise<string> {
  const { io } = connection;
  const cluster = clusterOf(values);
  const parts = [`fairlead at ${values.gateway}, ${new Date().toISOString()}\n`];
  const fault = cluster === undefined ? undefined : await findClusterFault(connection, cluster);
  if (fault !== undefined) throw new Error(fault);
  for (const name of shownKinds) {
    const kind = kinds[name];
    const entries = await listAll(connection, kind, cluster === undefined ? {} : { cluster });
    const maxRows = io.isTerminal ? maxLines : Infinity;
    const { heads, rows } = toRows(narrowOf(kind.columns), entries.slice(0, maxRows));
    const rest = entries.length > maxRows ? `and ${entries.length - maxRows} more\n` : '';
    const table = rows.length === 0 ? 'none\n' : renderTable(heads, rows, { style: io.style });
    parts.push(`${io.style('bold', `${name} (${entries.length})`)}\n${table}${rest}`);
  }
  return parts.join('\n');
}
