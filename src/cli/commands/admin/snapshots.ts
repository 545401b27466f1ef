import { text } from '../../../lib/parsers.ts';
import { deleteGroup, deleteSnapshot } from '../../actions/snapshots.ts';
import { command, dryRun, shared } from './command.ts';

/** The commands that delete snapshots in place of their clusters, by name. */
export const snapshotCommands = {
  'delete-snapshot': command({
    doc: 'deletes a snapshot for good; volumes that were made from it stay',
    settings: { ...shared, snapshot: { doc: "the snapshot's id", parse: text }, 'dry-run': dryRun },
    operands: ['snapshot'],
    ask: (client, call, { snapshot: snapshotId, 'dry-run': isDry }) =>
      deleteSnapshot(client, call, { snapshotId, isDry }),
  }),
  'delete-group': command({
    doc: 'deletes a group of snapshots with all its snapshots for good; volumes that were made from them stay',
    settings: {
      ...shared,
      group: { doc: "the group's id, as `fairlead get snapshots -o wide` prints it", parse: text },
      'dry-run': dryRun,
    },
    operands: ['group'],
    ask: (client, call, { group: groupId, 'dry-run': isDry }) =>
      deleteGroup(client, call, { groupId, isDry }),
  }),
};
