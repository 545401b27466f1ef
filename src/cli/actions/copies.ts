import type { CopyGrant } from '../../api/volume.ts';
import type { Action, ActionResult } from './action.ts';

/** The source of copies, which may be a group of snapshots, and the cluster that may copy it. */
export type Copied = {
  readonly kind: 'volume' | 'snapshot' | 'group';
  readonly id: string;
  readonly grantee: string;
};

/** Lets another cluster create volumes from a volume, a snapshot or the members of a group. */
export async function grantCopies(
  ...[client, call, { kind, id, grantee, isDry }]: Parameters<Action<Copied>>
): Promise<ActionResult & { readonly data: CopyGrant }> {
  const key = { grantee, dryRun: isDry ? 'true' : 'false' } as const;
  const granted = {
    volume: () => client.grantAdminVolumeCopies({ ...key, volumeId: id }, call),
    snapshot: () => client.grantAdminSnapshotCopies({ ...key, snapshotId: id }, call),
    group: () => client.grantAdminGroupCopies({ ...key, groupId: id }, call),
  };
  const data = await granted[kind]();
  return { data, table: `cluster "${grantee}" ${isDry ? 'could' : 'can'} copy ${kind} "${id}"` };
}

/** Ends the right of another cluster to copy. */
export const revokeCopies: Action<Copied> = async (client, call, { kind, id, grantee, isDry }) => {
  const key = { grantee, dryRun: isDry ? 'true' : 'false' } as const;
  const revoked = {
    volume: () => client.revokeAdminVolumeCopies({ ...key, volumeId: id }, call),
    snapshot: () => client.revokeAdminSnapshotCopies({ ...key, snapshotId: id }, call),
    group: () => client.revokeAdminGroupCopies({ ...key, groupId: id }, call),
  };
  await revoked[kind]();
  const verb = isDry ? 'could not' : 'cannot';
  return { data: { id, cluster: grantee }, table: `cluster "${grantee}" ${verb} copy ${kind} "${id}"` };
};
