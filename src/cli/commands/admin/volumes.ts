import { text } from '../../../lib/parsers.ts';
import { onOrOff } from '../../../lib/settings.ts';
import { deleteVolume, detach } from '../../actions/volumes.ts';
import { command, dryRun, shared } from './command.ts';

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
    ask: (client, call, { volume: volumeId, node, force, 'node-cluster': cluster, 'dry-run': isDry }) =>
      detach(client, call, { volumeId, node, cluster, force, isDry }),
  }),
  delete: command({
    doc: 'deletes a volume that is not attached; it can be restored for the time of --keep-deleted of the gateway',
    settings: { ...shared, volume, 'dry-run': dryRun },
    operands: ['volume'],
    ask: (client, call, { volume: volumeId, 'dry-run': isDry }) =>
      deleteVolume(client, call, { volumeId, isDry }),
  }),
};
