import type { Operations as Rows, Request } from '../../src/api/operations.ts';
import { invalidProblem } from '../../src/api/problem.ts';
import type { Services } from '../services.ts';
import type { AttachmentRecord } from '../tables/attachments.ts';
import type { ListingOptions } from './state.ts';

/** What moving volumes between clusters works with. */
export type TenancyOptions = Pick<ListingOptions, 'clusters'> & Pick<Services, 'attachments' | 'sharing'>;

/** Makes what operators do with volumes of one cluster for another. */
export function createTenancy({ clusters, attachments, sharing }: TenancyOptions) {
  /** Returns once the node cannot reach the volume any more. */
  const detach = ({ cluster, volumeId, nodeId }: AttachmentRecord): Promise<void> =>
    attachments.detach({ cluster: { name: cluster, acceptAnyNode: true }, volumeId, nodeId });

  function requireCluster(name: string): void {
    if (Object.hasOwn(clusters(), name)) return;
    const names = Object.keys(clusters()).map(one => `"${one}"`);
    throw invalidProblem(`there is no cluster "${name}"; there are ${names.join(', ') || 'none'}`);
  }

  return {
    async grantAnyVolume({ body, ...key }: Request<Rows['grantAnyVolume']>) {
      requireCluster(key.grantee);
      return sharing.grant(key, body);
    },
    revokeAnyGrant: ({ force, ...key }: Request<Rows['revokeAnyGrant']>): Promise<void> =>
      force ? sharing.forceRevoke(key, detach) : sharing.revoke(key),
  };
}
