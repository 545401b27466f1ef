import type { Group, GroupSpec } from '../../src/api/snapshot.ts';
import type { ServiceOptions } from '../operations/service-options.ts';
import { requireAnyOffers } from '../pools/features.ts';
import type { Cluster } from '../tenancy/cluster.ts';
import { notFoundProblem } from '../tenancy/ownership.ts';
import { readRequirement } from '../volumes/placement.ts';
import { createRecorded } from './create.ts';
import { deleteRecorded } from './delete.ts';
import { toGroup } from './documents.ts';
import { findRecorded } from './record.ts';

/** Makes snapshots of several volumes at one point in time; another cluster's are not there for the one that asks. */
export function createGroups(options: ServiceOptions) {
  const { engine, pools } = options;
  const requireAny = (): void => requireAnyOffers(pools, 'groups', 'groups of snapshots');

  return {
    async get(cluster: Cluster, id: string): Promise<Group> {
      requireAny();
      const found = await findRecorded(engine.reader, { kind: 'group', id });
      if (found?.subject.cluster !== cluster.name) throw notFoundProblem({ kind: 'group', id });
      return toGroup(found);
    },

    /** Creates all members or none, or finds that they are there; `created` is false then. */
    async create(cluster: Cluster, id: string, { name, volumeIds, parameters }: GroupSpec) {
      requireAny();
      const asked = {
        kind: 'group',
        id,
        name,
        volumeIds,
        parameters,
        requirement: readRequirement(),
      } as const;
      const { created, ...recorded } = await createRecorded(options, cluster, asked);
      return { group: toGroup(recorded), created };
    },

    /** Deletes the group with its members; one that is not there is fine. */
    async delete(cluster: Cluster, id: string): Promise<void> {
      requireAny();
      await deleteRecorded(options, cluster, { kind: 'group', id });
    },
  };
}
