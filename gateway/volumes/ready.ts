import { Problem } from '../../src/api/problem.ts';
import type { Reader } from '../store.ts';
import { findVolume, type VolumeRecord } from '../tables/volumes.ts';
import { notFoundProblem } from '../tenancy/ownership.ts';

/** The volume on which work can begin: NOT_FOUND when it is not there, ABORTED while it is made or deleted. */
export async function requireReadyVolume(sql: Reader, id: string): Promise<VolumeRecord> {
  const volume = await findVolume(sql, id);
  if (!volume) throw notFoundProblem({ kind: 'volume', id });
  if (volume.state !== 'ready')
    throw new Problem('ABORTED', `volume "${id}" is not ready: it is ${volume.state}`);
  return volume;
}
