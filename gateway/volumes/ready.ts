import { Problem } from '../../src/api/problem.ts';
import type { Reader } from '../store.ts';
import { findVolume, type VolumeRecord } from '../tables/volumes.ts';
import type { Cluster } from '../tenancy/cluster.ts';
import { notFoundProblem } from '../tenancy/ownership.ts';

/** The cluster's volume, in whatever state; NOT_FOUND when it has none with this id. */
export async function requireVolume(sql: Reader, cluster: Cluster, id: string): Promise<VolumeRecord> {
  const volume = await findVolume(sql, id);
  if (volume?.cluster !== cluster.name) throw notFoundProblem({ kind: 'volume', id });
  return volume;
}

/** The volume on which work can begin: NOT_FOUND when it is not there, ABORTED while it is created or deleted. */
export async function requireReadyVolume(sql: Reader, id: string): Promise<VolumeRecord> {
  const volume = await findVolume(sql, id);
  if (!volume) throw notFoundProblem({ kind: 'volume', id });
  if (volume.state !== 'ready')
    throw new Problem('ABORTED', `volume "${id}" is not ready: it is ${volume.state}`);
  return volume;
}
