import type { Operations as Rows, Request } from '../../src/api/operations.ts';
import { clusterOf } from '../../src/api/ids.ts';
import { invalidProblem } from '../../src/api/problem.ts';
import type { Operations } from '../operations/operation.ts';
import type { Services } from '../services.ts';
import type { ShownAttachment } from '../tables/attachments.ts';
import type { VolumeRecord } from '../tables/volumes.ts';
import { findEntry } from '../callers/access.ts';
import type { Cluster } from '../callers/cluster.ts';
import { createTransfer } from '../sharing/transfer.ts';
import { createImport } from '../sharing/import.ts';
import { toVolume } from '../volumes/show.ts';
import { createRetirement, type RetirementOptions } from './retirement.ts';
import type { ListingOptions } from './state.ts';

export type AdminSharingOptions = RetirementOptions &
  Pick<ListingOptions, 'clusters' | 'engine' | 'pools' | 'slices'> &
  Pick<Services, 'attachments' | 'sharing'> & { readonly operations: Operations };

/** Creates the operations of operators that grant, transfer and import volumes. */
export function createAdminSharing(options: AdminSharingOptions) {
  const { clusters, attachments, sharing } = options;
  /** Returns once the node cannot reach the volume any more. */
  const detach = ({ cluster, volumeId, nodeId }: ShownAttachment): Promise<void> =>
    attachments.detach({ cluster: { name: cluster, acceptAnyNode: true }, volumeId, nodeId });

  function requireCluster(name: string): Cluster {
    const entry = findEntry(clusters, name);
    if (entry) return { name, acceptAnyNode: false, ...entry };
    const names = Object.keys(clusters()).map(one => `"${one}"`);
    throw invalidProblem(`there is no cluster "${name}"; there are ${names.join(', ') || 'none'}`);
  }

  const transfers = createTransfer(options, detach);
  const imports = createImport(options);

  return {
    retireCluster: createRetirement(options, transfers, requireCluster),
    async grantAdminVolume({ body, ...key }: Request<Rows['grantAdminVolume']>) {
      requireCluster(key.grantee);
      return sharing.grant(key, body);
    },
    async transferVolume({ volumeId, body }: Request<Rows['transferVolume']>) {
      const to = requireCluster(body.cluster);
      const request = { volumeId, to, name: body.name };
      return show(await (body.dryRun ? transfers.foresee(request) : transfers.transfer(request)));
    },
    async importVolume({ volumeId, body }: Request<Rows['importVolume']>) {
      const { storageId = volumeId, dryRun, ...rest } = body;
      const owner = clusterOf(volumeId);
      if (owner === undefined) throw invalidProblem(`"${volumeId}" is not a volume id such as "east.name"`);
      const request = { ...rest, volumeId, storageId, cluster: requireCluster(owner) };
      return show(await (dryRun ? imports.foresee(request) : imports.importVolume(request)));
    },
    revokeAdminGrant({ force, dryRun, ...key }: Request<Rows['revokeAdminGrant']>): Promise<void> {
      if (dryRun) return sharing.foreseeRevoke(key, { force });
      return force ? sharing.forceRevoke(key, detach) : sharing.revoke(key);
    },
  };
}

/** Returns the volume as its cluster sees it, with its capabilities. */
function show(record: VolumeRecord) {
  return { volume: toVolume(record, []), capabilities: [...record.spec.capabilities] };
}
