import { dryRunQuery } from '../admin.ts';
import { copyGrantSchema } from '../volume.ts';
import type { Operation } from './row.ts';

const granting = <Route extends Operation['route']>(route: Route) =>
  ({
    route,
    doc: 'Lets another cluster create volumes from it, in the quota and the pools of that cluster.',
    answers: { 200: copyGrantSchema },
    problems: ['ABORTED', 'FAILED_PRECONDITION', 'RESOURCE_EXHAUSTED'],
  }) as const;

const revoking = <Route extends Operation['route']>(route: Route) =>
  ({
    route,
    doc: 'Ends the right of another cluster to create volumes from it. Existing copies stay.',
    answers: { 204: null },
    problems: ['FAILED_PRECONDITION'],
  }) as const;

/** The operations of clusters on the copies of their own volumes and snapshots. */
export const copyOperations = {
  grantVolumeCopies: granting('PUT /v1/volumes/{volumeId}/copy-grants/{grantee}'),
  revokeVolumeCopies: revoking('DELETE /v1/volumes/{volumeId}/copy-grants/{grantee}'),
  grantSnapshotCopies: granting('PUT /v1/snapshots/{snapshotId}/copy-grants/{grantee}'),
  revokeSnapshotCopies: revoking('DELETE /v1/snapshots/{snapshotId}/copy-grants/{grantee}'),
  grantGroupCopies: granting('PUT /v1/groups/{groupId}/copy-grants/{grantee}'),
  revokeGroupCopies: revoking('DELETE /v1/groups/{groupId}/copy-grants/{grantee}'),
} as const satisfies Readonly<Record<string, Operation>>;

const asOperator = <Row extends Operation>(row: Row) => ({ ...row, query: dryRunQuery }) as const;

/** The same operations for operators, on the resources of any cluster, which need not agree. */
export const adminCopyOperations = {
  grantAdminVolumeCopies: asOperator(granting('PUT /v1/admin/volumes/{volumeId}/copy-grants/{grantee}')),
  revokeAdminVolumeCopies: asOperator(revoking('DELETE /v1/admin/volumes/{volumeId}/copy-grants/{grantee}')),
  grantAdminSnapshotCopies: asOperator(
    granting('PUT /v1/admin/snapshots/{snapshotId}/copy-grants/{grantee}'),
  ),
  revokeAdminSnapshotCopies: asOperator(
    revoking('DELETE /v1/admin/snapshots/{snapshotId}/copy-grants/{grantee}'),
  ),
  grantAdminGroupCopies: asOperator(granting('PUT /v1/admin/groups/{groupId}/copy-grants/{grantee}')),
  revokeAdminGroupCopies: asOperator(revoking('DELETE /v1/admin/groups/{groupId}/copy-grants/{grantee}')),
} as const satisfies Readonly<Record<string, Operation>>;
