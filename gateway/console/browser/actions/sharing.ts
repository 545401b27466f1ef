import type { AdminSnapshot, AdminVolume } from '../../../../src/api/admin.ts';
import { accessModes, accessTypes, type AccessMode, type AccessType } from '../../../../src/api/storage.ts';
import type { Grant } from '../../../../src/api/volume.ts';
import type { ActionResult } from '../../../../src/cli/actions/action.ts';
import { type Copied, grantCopies, revokeCopies } from '../../../../src/cli/actions/copies.ts';
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

/** The choice of a grant by which the other cluster only creates volumes from the volume. */
const copiesOnly = 'copies only';

/** Makes the grant of a volume to another cluster. */
export function granting({ id, cluster }: AdminVolume): OfferedAction {
  return {
    title: `Grant volume ${id} to another cluster`,
    fields: [
      { name: 'grantee', label: 'Cluster', options: () => listOtherClusters(cluster) },
      {
        name: 'access',
        label: 'Access',
        options: ['read-only', 'read-write', copiesOnly],
        initial: 'read-only',
      },
    ],
    run: ({ isDry, values: { grantee = '', access } }) =>
      access === copiesOnly
        ? grantCopies(client, call(), { kind: 'volume', id, grantee, isDry })
        : grant(client, call(), { volumeId: id, grantee, access: access as Grant['access'], isDry }),
  };
}

/** Makes the end of a cluster's grants of this volume. */
export function revoking({ id, grants = [], copyGrants = [] }: AdminVolume): OfferedAction {
  const sharing = grants.map(({ cluster }) => cluster);
  const copiers = copyGrants.map(({ cluster }) => cluster);
  const grantees = [...new Set([...sharing, ...copiers])];
  return {
    title: `Revoke a grant of volume ${id}`,
    fields: [{ name: 'grantee', label: 'Cluster', options: grantees, initial: grantees[0] }],
    async run({ isDry, force, values: { grantee = '' } }) {
      const isSharing = sharing.includes(grantee);
      const shared = isSharing && (await revoke(client, call(), { volumeId: id, grantee, force, isDry }));
      const copied =
        copiers.includes(grantee) &&
        (await revokeCopies(client, call(), { kind: 'volume', id, grantee, isDry }));
      const [first, second] = [shared, copied].filter(one => one !== false);
      if (!first) throw new Error('choose a cluster');
      return {
        ...first,
        table: [first, second]
          .map(one => one?.table ?? '')
          .join('\n')
          .trim(),
      };
    },
    force: 'First detach it from the nodes of that cluster: their pods get I/O errors',
  };
}

/** Makes the grant of the copies of a snapshot, or of all snapshots of its group, and the end of such a grant. */
export function copying({ id, groupId, cluster, copyGrants = [] }: AdminSnapshot): readonly OfferedAction[] {
  const source = groupId === undefined ? { kind: 'snapshot', id } : { kind: 'group', id: groupId };
  const copied = source as Pick<Copied, 'kind' | 'id'>;
  const named = `copies of ${source.kind} ${source.id}`;
  const grantees = copyGrants.map(({ cluster: one }) => one);
  const granted: OfferedAction = {
    title: `Grant ${named} to another cluster`,
    fields: [{ name: 'grantee', label: 'Cluster', options: () => listOtherClusters(cluster) }],
    run: ({ isDry, values: { grantee = '' } }) => grantCopies(client, call(), { ...copied, grantee, isDry }),
  };
  const revoked: OfferedAction = {
    title: `Revoke a grant of ${named}`,
    fields: [{ name: 'grantee', label: 'Cluster', options: grantees, initial: grantees[0] }],
    run: ({ isDry, values: { grantee = '' } }) => revokeCopies(client, call(), { ...copied, grantee, isDry }),
  };
  return grantees.length > 0 ? [granted, revoked] : [granted];
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
        capabilities: [{ accessMode: accessMode as AccessMode, accessType: accessType as AccessType }],
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
