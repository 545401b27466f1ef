import { preconditionProblem, type Problem } from '../../src/api/problem.ts';
import type { Pool } from '../pools/pools.ts';
import type { ShownAttachment } from '../tables/attachments.ts';
import type { VolumeRecord } from '../tables/volumes.ts';

/** Returns false if a detach does not stop a node that still uses a volume of the pool. */
export function canCutOff(pool: Pool | undefined): boolean {
  return pool?.backend.cannotCutOff !== true;
}

/** Makes the problem of a detachment without force from a pool that cannot cut the node off. */
export function uncutProblem({ id, pool }: VolumeRecord, { nodeId }: ShownAttachment): Problem {
  return preconditionProblem(
    `pool "${pool}" cannot cut node "${nodeId}" off from volume "${id}"; once that machine is off, detach the volume by force`,
  );
}
