import type { Deletion } from '../../../api/admin.ts';
import type { StorageClient } from '../../../api/client.ts';
import type { Call } from '../../../api/http.ts';
import { readNodeId } from '../../../api/ids.ts';
import { text } from '../../../lib/parsers.ts';
import { onOrOff } from '../../../lib/settings.ts';
import { command, dryRun, shared, withStep } from './command.ts';
import { uncutWarning } from './cut-off.ts';
import { unattachedFault } from './names.ts';

const volume = { doc: "the volume's id", parse: text } as const;

/** The commands that detach and delete volumes in place of their clusters, by name. */
export const volumeCommands = {
  detach: command({
    doc: 'detaches a volume from a node, or from all nodes, and returns once they can no longer read or write; if the pool cannot cut nodes off, it says so',
    settings: {
      ...shared,
      volume,
      node: {
        doc: "the node's name or id; default: every node that has the volume",
        parse: text,
        optional: true,
      },
      'node-cluster': { doc: "the node's cluster; default: every cluster", parse: text, optional: true },
      force: {
        doc: 'also detach from nodes that their clusters have not deleted; the pods that use the volume there get I/O errors',
        ...onOrOff,
      },
      'dry-run': dryRun,
    },
    operands: ['volume', 'node'],
    async ask(client, call, { volume: volumeId, node, force, 'node-cluster': cluster, 'dry-run': isDry }) {
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
    },
  }),
  delete: command({
    doc: 'deletes a volume that is not attached; it can be restored for the time of --keep-deleted of the gateway',
    settings: { ...shared, volume, 'dry-run': dryRun },
    operands: ['volume'],
    async ask(client, call, { volume: volumeId, 'dry-run': isDry }) {
      const data = await client
        .deleteAdminVolume({ volumeId, body: { dryRun: isDry } }, call)
        .catch(withStep('FAILED_PRECONDITION', `fairlead explain ${volumeId} shows what holds it`));
      if (data.outcome === 'missing') throw await missingFault(client, call, volumeId);
      return { data, table: isDry ? toPlan(volumeId, data) : toOutcome(volumeId, data) };
    },
  }),
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
