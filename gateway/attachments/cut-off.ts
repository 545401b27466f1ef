import { preconditionProblem, type Problem } from '../../src/api/problem.ts';
import type { Pool, Pools } from '../pools/pools.ts';
import type { Reader } from '../store.ts';
import type { ShownAttachment } from '../tables/attachments.ts';
import type { VolumeRecord } from '../tables/volumes.ts';
import { requireGone } from './nodes.ts';

/** Returns false if a detach does not stop a node that still uses a volume of the pool. */
export function canCutOff({ backend }: Pool): boolean {
  return backend.cannotCutOff !== true;
}

/** Returns false also for a pool that is not open, because only an open pool says whether it cuts nodes off. */
export function isKnownToCutOff(pools: Pools, name: string): boolean {
  return pools.all().some(pool => pool.name === name && canCutOff(pool));
}

export type Detachable = { readonly volume: VolumeRecord; readonly attachment: ShownAttachment };

/**
 * Throws FAILED_PRECONDITION when a pod may use the volume (see `requireGone`), or when the volume's pool cannot cut
 * the node off.
 */
export async function requireDetachable(
  sql: Reader,
  pool: Pool,
  { volume, attachment }: Detachable,
): Promise<void> {
  await requireGone(sql, attachment);
  if (!canCutOff(pool) && attachment.state !== 'detaching') throw uncutProblem(volume, attachment);
}

function uncutProblem({ id, pool }: VolumeRecord, { nodeId }: ShownAttachment): Problem {
  return preconditionProblem(
    `pool "${pool}" cannot cut node "${nodeId}" off from volume "${id}"; once that machine is off, detach the volume by force`,
  );
}
