import { pause } from '../lib/concurrency.ts';
import { durationMs, integer } from '../lib/parsers.ts';
import type { SettingsOf } from '../lib/settings.ts';
import { connectionSettings, gatewayCommand, type Connection } from './connection.ts';
import { clusterOf, clusterSettings, listAll, toRows } from './get.ts';
import { kinds } from './kinds.ts';
import { renderTable } from './output/table.ts';

const settings = {
  ...clusterSettings,
  every: { doc: 'how often it looks', parse: durationMs, default: '2s' },
  times: {
    doc: 'how often it looks in all; without it on and on in a terminal, and once elsewhere',
    parse: integer(1, 1_000_000),
    optional: true,
  },
  ...connectionSettings,
} as const;

type Values = SettingsOf<typeof settings>;

/** What is shown, the most urgent first, and of each kind at most so many lines in a terminal. */
const shown = ['operations', 'queues', 'pools', 'clusters'] as const;
const mostLines = 20;

/** Home, and what is below it cleared: nothing flickers. */
const [home, clearBelow] = ['\u001B[H', '\u001B[J'];

/** Shows what gateways do. */
export const topCommand = gatewayCommand({ settings }, async (connection, values) => {
  const { io } = connection;
  const { times = io.isTerminal ? Infinity : 1 } = values;
  for (let time = 1; !io.signal?.aborted; time++) {
    const screen = await render(connection, values).catch((error: Error) => {
      // In a terminal it goes on: that is when somebody looks.
      if (!io.isTerminal) throw error;
      return `${error.message}; it is asked again\n`;
    });
    io.out(io.isTerminal ? `${home}${screen.replaceAll('\n', '\u001B[K\n')}${clearBelow}` : screen);
    if (time >= times) break;
    await pause(values.every, io.signal).catch(() => undefined);
  }
});

async function render(connection: Connection, values: Values): Promise<string> {
  const { io } = connection;
  const cluster = clusterOf(values);
  const parts = [`fairlead at ${values.gateway}, ${new Date().toISOString()}\n`];
  for (const name of shown) {
    const kind = kinds[name];
    const entries = await listAll(connection, kind, cluster === undefined ? {} : { cluster });
    const most = io.isTerminal ? mostLines : Infinity;
    const { heads, rows } = toRows(kind, false, entries.slice(0, most));
    const rest = entries.length > most ? `and ${entries.length - most} more\n` : '';
    const table = rows.length === 0 ? 'none\n' : renderTable(heads, rows, { style: io.style });
    parts.push(`${io.style('bold', `${name} (${entries.length})`)}\n${table}${rest}`);
  }
  return parts.join('\n');
}
