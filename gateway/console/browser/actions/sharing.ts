import type { AdminVolume } from '../../../../src/api/admin.ts';
import { accessModes, accessTypes, type AccessMode, type AccessType } from '../../../../src/api/storage.ts';
import type { Grant } from '../../../../src/api/volume.ts';
import type { ActionResult } from '../../../../src/cli/actions/action.ts';
import {
  grant,
  importVolume,
  type OwnedResult,
  revoke,
  transfer,
} from '../../../../src/cli/actions/sharing.ts';
import { toManifests } from '../../../../src/cli/commands/admin/manifests.ts';
import { kinds } from '../../../../src/cli/kinds/index.ts';
import { listAll } from '../../../../src/cli/listing.ts';
import { call, client } from '../gateway.ts';
import type { OfferedAction } from '../parts/act.tsx';

/** Makes the grant of a volume to another cluster. */
export function granting({ id, cluster }: AdminVolume): OfferedAction {
  return {
    title: `Grant volume ${id} to another cluster`,
    fields: [
      { name: 'grantee', label: 'Cluster', options: () => listOtherClusters(cluster) },
      { name: 'access', label: 'Access', options: ['read-only', 'read-write'], initial: 'read-only' },
    ],
    run: ({ isDry, values: { grantee = '', access } }) =>
      grant(client, call(), { volumeId: id, grantee, access: access as Grant['access'], isDry }),
  };
}

/** Makes the end of a grant of this volume. */
export function revoking({ id, grants = [] }: AdminVolume): OfferedAction {
  const grantees = grants.map(({ cluster }) => cluster);
  return {
    title: `Revoke a grant of volume ${id}`,
    fields: [{ name: 'grantee', label: 'Cluster', options: grantees, initial: grantees[0] }],
    run: ({ isDry, force, values: { grantee = '' } }) =>
      revoke(client, call(), { volumeId: id, grantee, force, isDry }),
    force: 'First detach it from the nodes of that cluster: their pods get I/O errors',
  };
}

/** Makes the transfer of a volume to another cluster. */
export function transferring({ id, cluster }: AdminVolume): OfferedAction {
  return {
    title: `Transfer volume ${id} to another cluster`,
    fields: [
      { name: 'to', label: 'Cluster', options: () => listOtherClusters(cluster) },
      { name: 'name', label: 'New name (if it has to change)', isOptional: true },
    ],
    run: async ({ isDry, values: { to = '', name } }) =>
      withManifests(await transfer(client, call(), { volumeId: id, to, name, isDry }), isDry),
    typed: id,
  };
}

/** Makes the import of an object of a pool's storage. */
export function importing(pool: string, id?: string): OfferedAction {
  return {
    title: `Import a volume of pool ${pool}`,
    fields: [
      { name: 'storageId', label: 'Name in the storage', initial: id },
      { name: 'volumeId', label: 'Id for the volume, CLUSTER.NAME', initial: id },
      { name: 'accessMode', label: 'Access mode', options: accessModes, initial: 'SINGLE_NODE_WRITER' },
      { name: 'accessType', label: 'Access type', options: accessTypes, initial: 'mount' },
      { name: 'size', label: 'Size in bytes (if the storage does not report it)', isOptional: true },
    ],
    run: async ({ isDry, values: { storageId, volumeId = '', accessMode, accessType, size } }) => {
      const request = {
        volumeId,
        pool,
        storageId,
        sizeBytes: size === undefined ? undefined : requireBytes(size),
        accessMode: accessMode as AccessMode,
        accessType: accessType as AccessType,
        isDry,
      };
      return withManifests(await importVolume(client, call(), request), isDry);
    },
  };
}

async function listOtherClusters(owner: string): Promise<readonly string[]> {
  const clusters = await listAll({ client, call }, kinds.clusters, {});
  return clusters.map(({ id }) => id).filter(id => id !== owner);
}

function requireBytes(size: string): number {
  if (/^\d+$/.test(size)) return Number(size);
  throw new Error(`"${size}" is not a number of bytes, such as 10737418240`);
}

/** Adds the manifests that make the volume usable in its new cluster. JSON is valid for `kubectl apply`, too. */
function withManifests(result: OwnedResult, isDry: boolean): ActionResult {
  if (isDry) return result;
  const items = toManifests(result.data, { driver: 'csi.fairlead.dev', namespace: 'default' });
  const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items }, undefined, 2);
  return { ...result, table: `${result.table}; for kubectl apply in its cluster:\n${list}` };
}
