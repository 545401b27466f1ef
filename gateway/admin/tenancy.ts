import type { Operations as Rows, Request } from '../../src/api/operations.ts';
import { clusterOf } from '../../src/api/ids.ts';
import { invalidProblem } from '../../src/api/problem.ts';
import type { Operations } from '../operations/operation.ts';
import type { Services } from '../services.ts';
import type { AttachmentRecord } from '../tables/attachments.ts';
import type { VolumeRecord } from '../tables/volumes.ts';
import type { Cluster } from '../tenancy/cluster.ts';
import { createHandOver } from '../tenancy/hand-over.ts';
import { createImport } from '../tenancy/import.ts';
import { toVolume } from '../volumes/record.ts';
import type { ListingOptions } from './state.ts';

/** What moving volumes between clusters works with. */
export type TenancyOptions = Pick<ListingOptions, 'clusters' | 'engine' | 'pools'> &
  Pick<Services, 'attachments' | 'sharing'> & { readonly operations: Operations };

/** Makes what operators do with volumes of one cluster for another. */
export function createTenancy(options: TenancyOptions) {
  const { clusters, attachments, sharing } = options;
  /** Returns once the node cannot reach the volume any more. */
  const detach = ({ cluster, volumeId, nodeId }: AttachmentRecord): Promise<void> =>
    attachments.detach({ cluster: { name: cluster, acceptAnyNode: true }, volumeId, nodeId });

  function requireCluster(name: string): Cluster {
    const all = clusters();
    const entry = Object.hasOwn(all, name) ? all[name] : undefined;
    if (entry) return { name, acceptAnyNode: false, ...entry };
    const names = Object.keys(all).map(one => `"${one}"`);
    throw invalidProblem(`there is no cluster "${name}"; there are ${names.join(', ') || 'none'}`);
  }

  const handOver = createHandOver(options, detach);
  const importVolume = createImport(options);

  return {
    async grantAnyVolume({ body, ...key }: Request<Rows['grantAnyVolume']>) {
      requireCluster(key.grantee);
      return sharing.grant(key, body);
    },
    async handOverVolume({ volumeId, body }: Request<Rows['handOverVolume']>) {
      const to = requireCluster(body.cluster);
      const record = await handOver({ volumeId, to, name: body.name });
      return show(record);
    },
    async importVolume({ volumeId, body: { storageId = volumeId, ...body } }: Request<Rows['importVolume']>) {
      const owner = clusterOf(volumeId);
      if (owner === undefined) throw invalidProblem(`"${volumeId}" is not a volume id such as "east.name"`);
      return show(await importVolume({ ...body, volumeId, storageId, cluster: requireCluster(owner) }));
    },
    revokeAnyGrant: ({ force, ...key }: Request<Rows['revokeAnyGrant']>): Promise<void> =>
      force ? sharing.forceRevoke(key, detach) : sharing.revoke(key),
  };
}

/** The volume as its cluster sees it now, and what it was made for. */
function show(record: VolumeRecord) {
  return { volume: toVolume(record, []), capabilities: [...record.spec.capabilities] };
}
