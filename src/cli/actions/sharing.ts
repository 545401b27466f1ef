import type { OwnedVolume } from '../../api/admin.ts';
import { clusterOf, readNodeId } from '../../api/ids.ts';
import type { Capability } from '../../api/storage.ts';
import type { Segments } from '../../api/topology.ts';
import type { ExistingVolume, Grant } from '../../api/volume.ts';
import { toSize } from '../output/values.ts';
import type { Action, ActionResult } from './action.ts';
import { findUncutWarning } from './cut-off.ts';
import { findVolume, requireGrantee } from './names.ts';

type GrantValues = {
  readonly volumeId: string;
  readonly grantee: string;
  readonly access: Grant['access'];
};

/** Shares a volume with another cluster, or changes its access. */
export const grant: Action<GrantValues> = async (client, call, { volumeId, grantee, access, isDry }) => {
  const data = await client.grantAdminVolume({ volumeId, grantee, body: { access, dryRun: isDry } }, call);
  const verb = isDry ? 'would be' : 'is';
  return { data, table: `volume "${volumeId}" ${verb} shared with cluster "${grantee}" ${access}` };
};

type RevokeValues = { readonly volumeId: string; readonly grantee: string; readonly force: boolean };

/** Ends the sharing of a volume with another cluster. */
export const revoke: Action<RevokeValues> = async (client, call, { volumeId, grantee, force, isDry }) => {
  await requireGrantee(client, call, { volumeId, grantee });
  const ofGrantee = { volumeId, cluster: grantee };
  const warning = force ? await findUncutWarning(client, call, ofGrantee) : undefined;
  const detached = isDry ? await planDetachment(client, call, ofGrantee) : [];
  const [forced, dryRun] = [force, isDry].map(is => (is ? ('true' as const) : ('false' as const)));
  await client.revokeAdminGrant({ volumeId, grantee, force: forced, dryRun }, call);
  const verb = isDry ? 'would not be' : 'is not';
  const lines = [...detached, `volume "${volumeId}" ${verb} shared with cluster "${grantee}"`];
  return { data: { ...ofGrantee, ...(warning && { isCutOff: false }) }, table: lines.join('\n'), warning };
};

type TransferValues = {
  readonly volumeId: string;
  readonly to: string;
  /** The name of the volume in its new id; undefined: its present name. */
  readonly name?: string | undefined;
};

/** The result of an action that gives a volume to a cluster. */
export type OwnedResult = ActionResult & { readonly data: OwnedVolume & { readonly isCutOff?: false } };

/** Detaches a volume from every node, and transfers it to another cluster. */
export async function transfer(
  ...[client, call, { volumeId, to, name, isDry }]: Parameters<Action<TransferValues>>
): Promise<OwnedResult> {
  const warning = await findUncutWarning(client, call, { volumeId });
  const detached = isDry ? await planDetachment(client, call, { volumeId }) : [];
  const body = { cluster: to, name, dryRun: isDry };
  const owned = await client.transferVolume({ volumeId, body }, call);
  const verb = isDry ? 'would belong' : 'now belongs';
  const table = [...detached, `volume "${volumeId}" ${verb} to cluster "${to}" as "${owned.volume.id}"`];
  return { data: { ...owned, ...(warning && { isCutOff: false }) }, table: table.join('\n'), warning };
}

type ImportValues = {
  readonly volumeId: string;
  readonly pool: string;
  /** The storage's name for it; undefined: the volume's id. */
  readonly storageId?: string | undefined;
  /** A volume that a CSI driver made, in place of the storage's id. */
  readonly existing?: ExistingVolume;
  /** Undefined: the storage reports the size. */
  readonly sizeBytes?: number | undefined;
  readonly capabilities: readonly Capability[];
  readonly topology?: Segments | undefined;
};

/** Imports an object of a pool's storage that belongs to no cluster as a volume. */
export async function importVolume(
  ...[client, call, { volumeId, isDry, capabilities, ...rest }]: Parameters<Action<ImportValues>>
): Promise<OwnedResult> {
  const body = { ...rest, capabilities: [...capabilities], dryRun: isDry };
  const data = await client.importVolume({ volumeId, body }, call);
  const { sizeBytes } = data.volume;
  const size = sizeBytes > 0 ? `, ${toSize(sizeBytes)}` : '';
  const object = `"${rest.existing?.handle ?? rest.storageId ?? volumeId}" of pool "${rest.pool}"`;
  const verb = isDry ? 'would be' : 'is now';
  return { data, table: `${object} ${verb} volume "${volumeId}" of cluster "${clusterOf(volumeId)}"${size}` };
}

/** Lists the detachments that come before, each in one sentence. */
async function planDetachment(
  client: Parameters<Action<object>>[0],
  call: Parameters<Action<object>>[1],
  { volumeId, cluster }: { readonly volumeId: string; readonly cluster?: string },
): Promise<readonly string[]> {
  const { attachments = [] } = (await findVolume(client, call, volumeId)) ?? {};
  return attachments
    .filter(one => one.cluster === (cluster ?? one.cluster))
    .map(one => `would detach volume "${volumeId}" from ${nodeOf(one)}`);
}

function nodeOf({ nodeId, cluster }: { readonly nodeId: string; readonly cluster: string }): string {
  return `node "${readNodeId(nodeId).name}" of cluster "${cluster}"`;
}
