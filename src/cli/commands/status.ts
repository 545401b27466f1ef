import type { ClusterState, PoolState, RunningOperation, Status } from '../../api/admin.ts';
import { asProblem } from '../../api/problem.ts';
import { connectionSettings, gatewayCommand, type Connection } from '../connection.ts';
import type { Entry, Kind } from '../kind.ts';
import { kinds, type KindName } from '../kinds/index.ts';
import { listAll } from '../listing.ts';
import { outputFormats, toOutput } from '../output/formats.ts';
import { renderTable } from '../output/table.ts';
import { judge, type StatusFacts, type StatusLine } from './status/judge.ts';

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

async function gather(connection: Connection, gateway: string): Promise<StatusFacts> {
  const { client, call } = connection;
  const all = <E extends Entry>(name: KindName): Promise<readonly E[]> =>
    listAll<E>(connection, kinds[name] as Kind<E>, {});
  const nowMs = Date.now();
  let status: Status;
  try {
    status = await client.getStatus({}, call());
  } catch (error) {
    const { code, detail } = asProblem(error);
    // A refused token is the caller's own fault, and not one of the gateway.
    if (code !== 'UNAVAILABLE' && code !== 'DEADLINE_EXCEEDED') throw error;
    return { gateway, nowMs, fault: detail };
  }
  if (!status.store.answers) return { gateway, nowMs, status };
  const [pools, clusters, operations] = await Promise.all([
    all<PoolState>('pools'),
    all<ClusterState>('clusters'),
    all<RunningOperation>('operations'),
  ]);
  return { gateway, nowMs, status, pools, clusters, operations };
}

function toText(lines: readonly StatusLine[], style: Connection['io']['style']): string {
  const problems = lines.flatMap(({ about, what, todo }) =>
    todo === undefined ? [] : [`${style('red', '!')} ${about}: ${what}\n    ${todo}\n`],
  );
  const count = problems.length === 1 ? '1 problem needs' : `${problems.length} problems need`;
  const unchecked = lines.flatMap(({ about, isUnchecked }) => (isUnchecked ? [about] : []));
  const fine =
    unchecked.length === 0
      ? 'everything works\n'
      : `nothing needs attention; not checked against the store yet: ${unchecked.join(', ')}\n`;
  const first = problems.length === 0 ? fine : `${count} attention\n${problems.join('')}`;
  const rows = lines.map(({ about, state }) => [about, state]);
  return `${first}\n${renderTable([], rows, { hasHeads: false, style })}`;
}
