import type { PoolDrain } from '../../../api/admin.ts';
import { text } from '../../../lib/parsers.ts';
import { onOrOff } from '../../../lib/settings.ts';
import { renderTable } from '../../output/table.ts';
import { toSize } from '../../output/values.ts';
import { command, dryRun, shared } from './command.ts';

/** The command that empties a pool. */
export const drainCommand = command({
  doc: 'stops the creation of volumes in a pool, and lists the remaining volumes and snapshots',
  exits: { 2: 'something is left in the pool' },
  settings: {
    ...shared,
    pool: { doc: 'the pool', parse: text },
    end: { doc: 'end the drain: the pool takes new volumes again', ...onOrOff },
    'dry-run': dryRun,
  },
  operands: ['pool'],
  async ask(client, call, { pool, end, 'dry-run': isDry }) {
    const data = await client.drainPool({ pool, body: { end, dryRun: isDry } }, call);
    if (end) return { data, table: `pool "${pool}" ${isDry ? 'would take' : 'takes'} new volumes` };
    const effect = isDry ? 'would take no new volumes' : 'takes no new volumes';
    const next = isDry ? '' : ': remove it from gateway.yaml, or use it again with --end';
    const rest = data.left.length === 0 ? `it is empty${next}` : toRest(pool, data);
    const table = `pool "${pool}" ${effect}; ${rest}`;
    return { data, table, status: data.left.length > 0 ? 2 : 0 };
  },
});

function toRest(pool: string, { left }: PoolDrain): string {
  const rows = left.map(one => [
    one.cluster,
    String(one.volumes),
    String(one.snapshots),
    toSize(one.reservedBytes),
  ]);
  const table = renderTable(['cluster', 'volumes', 'snapshots', 'reserved'], rows);
  return `what is left:\n${table}let the clusters copy the data into volumes of another pool, and delete these volumes and snapshots (fairlead admin delete, delete-snapshot, delete-group); fairlead get volumes -A -l pool=${pool} and fairlead get snapshots -A -l pool=${pool} list them`;
}
