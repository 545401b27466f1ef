import type { SnapshotDeletion } from '../../api/admin.ts';
import { withStep, type Action } from './action.ts';

/** Deletes a snapshot for good. */
export const deleteSnapshot: Action<{ readonly snapshotId: string }> = async (client, call, values) => {
  const { snapshotId, isDry } = values;
  const data = await client
    .deleteAdminSnapshot({ snapshotId, body: { dryRun: isDry } }, call)
    .catch(withStep('INVALID_ARGUMENT', 'see fairlead admin delete-group', /; delete the group$/))
    .catch(withStep('FAILED_PRECONDITION', `fairlead explain ${snapshotId} shows what holds it`));
  if (data.snapshots.length === 0) throw missingFault('snapshot', snapshotId);
  return { data, table: toLines(data, isDry) };
};

/** Deletes a group of snapshots with all its snapshots for good. */
export const deleteGroup: Action<{ readonly groupId: string }> = async (client, call, { groupId, isDry }) => {
  const data = await client.deleteAdminGroup({ groupId, body: { dryRun: isDry } }, call);
  if (data.snapshots.length === 0) throw missingFault('group', groupId);
  return { data, table: toLines(data, isDry) };
};

function toLines({ snapshots }: SnapshotDeletion, isDry: boolean): string {
  return snapshots
    .map(id => (isDry ? `would delete snapshot "${id}" for good` : `snapshot "${id}" is deleted`))
    .join('\n');
}

function missingFault(kind: 'snapshot' | 'group', id: string): Error {
  return new Error(`there is no ${kind} "${id}"; list all with fairlead get snapshots -A -o wide`);
}
