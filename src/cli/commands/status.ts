import { connectionSettings, gatewayCommand, type Connection } from '../connection.ts';
import { outputFormats, toOutput } from '../output/formats.ts';
import { renderTable } from '../output/table.ts';
import { gather } from './status/gather.ts';
import { judge, summarize } from './status/judge.ts';
import type { StatusLine } from './status/line.ts';

const settings = { output: outputFormats('text', 'json', 'yaml'), ...connectionSettings } as const;

const exits = { 1: 'an operator has to act' };

/** Says in words whether everything works. */
export const statusCommand = gatewayCommand({ settings, exits }, async (connection, values) => {
  const { io } = connection;
  const lines = judge(await gather(connection, values.gateway));
  const problems = lines.filter(({ todo }) => todo !== undefined);
  if (values.output === 'text') io.out(toText(lines, io.style));
  else {
    const ok = problems.length === 0 && !lines.some(({ isUnchecked }) => isUnchecked);
    io.out(await toOutput({ ok, problems, lines }, values.output));
  }
  return problems.length > 0 ? 1 : 0;
});

function toText(lines: readonly StatusLine[], style: Connection['io']['style']): string {
  const problems = lines.flatMap(({ about, what, todo }) =>
    todo === undefined ? [] : [`${style('red', '!')} ${about}: ${what}\n    ${todo}\n`],
  );
  const rows = lines.map(({ about, state }) => [about, state]);
  const table = renderTable([], rows, { hasHeads: false, style });
  return `${summarize(lines)}\n${problems.join('')}\n${table}`;
}
