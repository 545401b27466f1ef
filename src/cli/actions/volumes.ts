import type { Deletion } from '../../api/admin.ts';
import type { StorageClient } from '../../api/client.ts';
import type { Call } from '../../api/http.ts';
import { readNodeId } from '../../api/ids.ts';
import { withStep, type Action } from './action.ts';
import { uncutWarning } from './cut-off.ts';
import { unattachedFault } from './names.ts';

type DetachValues = {
  readonly volumeId: string;
  /** The node's name or id; undefined: every node that has the volume. */
  readonly node?: string | undefined;
  /** The node's cluster; undefined: every cluster. */
  readonly cluster?: string | undefined;
  readonly force: boolean;
};

/** Detaches a volume from a node, or from all nodes. */
export const detach: Action<DetachValues> = async (
  client,
  call,
  { volumeId, node, cluster, force, isDry },
) => {
  const body = { nodeId: node, cluster, force, dryRun: isDry };
  const data = await client.detachAdminVolume({ volumeId, body }, call);
  const lines = data.attachments.map(one => {
    const at = `node "${readNodeId(one.nodeId).name}" of cluster "${one.cluster}"`;
    return isDry
      ? `would detach volume "${volumeId}" from ${at}`
      : `volume "${volumeId}" is detached from ${at}`;
  });
  const warning = !data.isCutOff && lines.length > 0 ? uncutWarning : undefined;
  if (lines.length === 0 && (node ?? cluster) !== undefined)
    throw await unattachedFault(client, call, { volumeId, node, cluster });
  const none = `volume "${volumeId}" is not attached to any node; nothing was done`;
  return { data, table: lines.join('\n') || none, warning };
};

/** Deletes a volume that is not attached. */
export const deleteVolume: Action<{ readonly volumeId: string }> = async (
  client,
  call,
  { volumeId, isDry },
) => {
  const data = await client
    .deleteAdminVolume({ volumeId, body: { dryRun: isDry } }, call)
    .catch(withStep('FAILED_PRECONDITION', `fairlead explain ${volumeId} shows what holds it`));
  if (data.outcome === 'missing') throw await missingFault(client, call, volumeId);
  return { data, table: isDry ? toPlan(volumeId, data) : toOutcome(volumeId, data) };
};

/** Restores a soft-deleted volume. */
export const restore: Action<{ readonly volumeId: string }> = async (client, call, { volumeId, isDry }) => {
  if (isDry) return { data: { volumeId }, table: `would restore volume "${volumeId}"` };
  await client.restoreVolume({ volumeId }, call);
  return { data: { volumeId }, table: `volume "${volumeId}" is restored` };
};

function toOutcome(id: string, { outcome, restorableUntil }: Deletion): string {
  if (outcome === 'deleted') return `volume "${id}" is deleted`;
  return `volume "${id}" is deleted; until ${restorableUntil}, fairlead admin restore ${id} brings it back`;
}

function toPlan(id: string, { outcome, restorableUntil }: Deletion): string {
  if (restorableUntil !== undefined)
    return `volume "${id}" was deleted before and can be restored until ${restorableUntil}; nothing would be done`;
  const how = outcome === 'deleted' ? 'for good, because the gateway keeps no deleted volumes' : 'restorably';
  return `would delete volume "${id}" ${how}`;
}

async function missingFault(client: StorageClient, call: Call, id: string): Promise<Error> {
  const { snapshots } = await client.listAllSnapshots({ id }, call);
  const step =
    snapshots.length > 0
      ? `to delete the snapshot with this id, use fairlead admin delete-snapshot ${id}`
      : 'list all with fairlead get volumes -A';
  return new Error(`there is no volume "${id}"; ${step}`);
}
