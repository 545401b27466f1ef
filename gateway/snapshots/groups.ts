import type { Group, GroupSpec } from '../../src/api/snapshot.ts';
import type { ServiceOptions } from '../operations/service-options.ts';
import type { Cluster } from '../tenancy/cluster.ts';
import { notFoundProblem } from '../tenancy/ownership.ts';
import { createRecorded } from './create.ts';
import { deleteRecorded } from './delete.ts';
import { toGroup } from './documents.ts';
import { findRecorded } from './record.ts';

/** Makes snapshots of several volumes at one point in time; another cluster's are not there for the one that asks. */
export function createGroups(options: ServiceOptions) {
  return {
    async get(cluster: Cluster, id: string): Promise<Group> {
      const found = await findRecorded(options.engine.reader, { kind: 'group', id });
      if (found?.subject.cluster !== cluster.name) throw notFoundProblem({ kind: 'group', id });
      return toGroup(found);
    },

    /** Creates all members or none, or finds that they are there; `created` is false then. */
    async create(cluster: Cluster, id: string, spec: GroupSpec) {
      const asked = { kind: 'group', id, ...spec } as const;
      const { created, ...recorded } = await createRecorded(options, cluster, asked);
      return { group: toGroup(recorded), created };
    },

    /** Deletes the group with its members; one that is not there is fine. */
    delete: (cluster: Cluster, id: string): Promise<void> =>
      deleteRecorded(options, cluster, { kind: 'group', id }),
  };
}
