import type { SnapshotDeletion } from '../../../api/admin.ts';
import { text } from '../../../lib/parsers.ts';
import { command, dryRun, shared, withStep } from './command.ts';

/** The commands that delete snapshots in place of their clusters, by name. */
export const snapshotCommands = {
  'delete-snapshot': command({
    doc: 'deletes a snapshot for good; volumes that were made from it stay',
    settings: { ...shared, snapshot: { doc: "the snapshot's id", parse: text }, 'dry-run': dryRun },
    operands: ['snapshot'],
    async ask(client, call, { snapshot: snapshotId, 'dry-run': isDry }) {
      const data = await client
        .deleteAdminSnapshot({ snapshotId, body: { dryRun: isDry } }, call)
        .catch(withStep('INVALID_ARGUMENT', 'see fairlead admin delete-group', /; delete the group$/))
        .catch(withStep('FAILED_PRECONDITION', `fairlead explain ${snapshotId} shows what holds it`));
      if (data.snapshots.length === 0) throw missingFault('snapshot', snapshotId);
      return { data, table: toLines(data, isDry) };
    },
  }),
  'delete-group': command({
    doc: 'deletes a group of snapshots with all its snapshots for good; volumes that were made from them stay',
    settings: {
      ...shared,
      group: { doc: "the group's id, as `fairlead get snapshots -o wide` prints it", parse: text },
      'dry-run': dryRun,
    },
    operands: ['group'],
    async ask(client, call, { group: groupId, 'dry-run': isDry }) {
      const data = await client.deleteAdminGroup({ groupId, body: { dryRun: isDry } }, call);
      if (data.snapshots.length === 0) throw missingFault('group', groupId);
      return { data, table: toLines(data, isDry) };
    },
  }),
};

function toLines({ snapshots }: SnapshotDeletion, isDry: boolean): string {
  return snapshots
    .map(id => (isDry ? `would delete snapshot "${id}" for good` : `snapshot "${id}" is deleted`))
    .join('\n');
}

function missingFault(kind: 'snapshot' | 'group', id: string): Error {
  return new Error(`there is no ${kind} "${id}"; list all with fairlead get snapshots -A -o wide`);
}
