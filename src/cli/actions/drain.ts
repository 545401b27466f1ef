import type { PoolDrain } from '../../api/admin.ts';
import { renderTable } from '../output/table.ts';
import { toSize } from '../output/values.ts';
import type { Action } from './action.ts';

/** Stops the creation of volumes in a pool, or with `end` allows it again. */
export const drain: Action<{ readonly pool: string; readonly end: boolean }> = async (
  client,
  call,
  values,
) => {
  const { pool, end, isDry } = values;
  const data = await client.drainPool({ pool, body: { end, dryRun: isDry } }, call);
  if (end) return { data, table: `pool "${pool}" ${isDry ? 'would take' : 'takes'} new volumes` };
  const effect = isDry ? 'would take no new volumes' : 'takes no new volumes';
  const next = isDry ? '' : ': remove it from gateway.yaml, or use it again with --end';
  const rest = data.left.length === 0 ? `it is empty${next}` : toRest(pool, data);
  const table = `pool "${pool}" ${effect}; ${rest}`;
  return { data, table, status: data.left.length > 0 ? 2 : 0 };
};

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
