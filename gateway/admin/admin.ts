import type { DeletedVolume, RepairStep, UncheckedPool } from '../../src/api/admin.ts';
import {
  maxPageEntries,
  type Operations as Rows,
  type Output,
  type Request,
} from '../../src/api/operations.ts';
import { Problem } from '../../src/api/problem.ts';
import { createNodeDetachment } from '../attachments/node-detachment.ts';
import { listHistory } from '../observability/history.ts';
import { readInPieces } from '../tables/paging.ts';
import { noteCheck, readMissed } from '../tables/clock.ts';
import type { Services } from '../services.ts';
import { listSoftDeleted, volumeTable, type VolumeRecord } from '../tables/volumes.ts';
import { changeVolume, restorableUntil } from '../volumes/record.ts';
import { type ActionOptions, createActions } from './actions.ts';
import { check, type CheckResult } from './check.ts';
import { createListings } from './listings.ts';
import type { ListingOptions } from './state.ts';
import { createStatus, type GatewayFacts } from './status.ts';
import { createAdminSharing, type AdminSharingOptions } from './sharing.ts';
import { listAuditLog } from './audit-log.ts';
import { plan, repair, type RepairOptions } from './repair.ts';

/** The operations of operators. */
type AdminId = {
  readonly [Id in keyof Rows]: Rows[Id]['route'] extends `${string} /v1/admin/${string}` ? Id : never;
}[keyof Rows];

/** One member for each operation of operators. */
export type Admin = {
  readonly [Id in AdminId]: (request: Request<Rows[Id]>) => Promise<Output<Rows[Id]>>;
};

export type AdminOptions = ActionOptions &
  AdminSharingOptions &
  Omit<RepairOptions, 'stuckAfterMs'> &
  ListingOptions &
  GatewayFacts &
  Pick<Services, 'copyGrants'>;

/** Creates the operations of operators. Other gateways may use the store meanwhile: claims keep them apart. */
export function createAdmin(options: AdminOptions): Admin {
  const { copyGrants } = options;
  const { reader } = options.engine;
  return {
    ...createListings(options),
    ...createAdminSharing(options),
    ...createActions(options),
    grantAdminVolumeCopies: ({ volumeId: id, ...key }) => copyGrants.grant({ kind: 'volume', id }, key),
    revokeAdminVolumeCopies: ({ volumeId: id, ...key }) => copyGrants.revoke({ kind: 'volume', id }, key),
    grantAdminSnapshotCopies: ({ snapshotId: id, ...key }) => copyGrants.grant({ kind: 'snapshot', id }, key),
    revokeAdminSnapshotCopies: ({ snapshotId: id, ...key }) =>
      copyGrants.revoke({ kind: 'snapshot', id }, key),
    grantAdminGroupCopies: ({ groupId: id, ...key }) => copyGrants.grant({ kind: 'group', id }, key),
    revokeAdminGroupCopies: ({ groupId: id, ...key }) => copyGrants.revoke({ kind: 'group', id }, key),
    getStatus: createStatus(options.engine, options),

    async check({ stuckAfterMs }) {
      await noteCheck(options.engine);
      const { findings, unchecked } = await check({ ...options, stuckAfterMs });
      return { findings: findings.slice(0, maxPageEntries), total: findings.length, ...show(unchecked) };
    },
    async repair({ body: { dryRun, stuckAfterMs, safetyAgeMs } }) {
      const settings = { ...options, stuckAfterMs };
      const found = await check(settings);
      const planned: RepairStep[] = [];
      for (let done = 0; done < found.findings.length; done += maxPageEntries) {
        const findings = found.findings.slice(done, done + maxPageEntries);
        const planNext = async () => plan({ ...found, findings }, safetyAgeMs);
        planned.push(...(await options.slices.take('operator', planNext)));
      }
      const steps = dryRun ? planned : await repair(settings, planned);
      return { steps: steps.slice(0, maxPageEntries), total: steps.length, ...show(found.unchecked) };
    },
    listAuditLog: request => listAuditLog(options, request),
    listHistory: request => listHistory(options, request),
    async listDeletedVolumes({ limit, pageToken = '' }) {
      const missedMs = await readMissed(reader);
      const found = await readInPieces({ afterId: pageToken, limit: limit + 1 }, (afterId, count) =>
        options.slices.take('operator', () => listSoftDeleted(reader, { afterId, limit: count })),
      );
      const volumes = found.slice(0, limit).map(volume => toDeletedVolume(volume, missedMs));
      const last = volumes.at(-1);
      return { volumes, ...(found.length > limit && last && { nextPageToken: last.id }) };
    },
    detachNode: createNodeDetachment(options),
    async restoreVolume({ volumeId: id }) {
      await options.operations.change({ operation: 'restore', kind: 'volume', id }, async sql => {
        await sql.lock('volume', id);
        const volume = await volumeTable.find(sql, { id });
        if (volume?.state === 'ready') return { result: undefined, isChanged: false };
        if (volume?.state !== 'deleted')
          throw new Problem('NOT_FOUND', `there is no soft-deleted volume "${id}"`);
        await changeVolume(sql, volume, {
          state: 'ready',
          restorableUntilMs: undefined,
          deletedAtMs: undefined,
        });
        return { result: undefined, isChanged: true };
      });
    },
  };
}

function show(unchecked: CheckResult['unchecked']): { readonly unchecked?: UncheckedPool[] } {
  return unchecked.length > 0 ? { unchecked: [...unchecked] } : {};
}

function toDeletedVolume(volume: VolumeRecord, missedMs: number): DeletedVolume {
  const { id, pool, sizeBytes } = volume;
  return { id, pool, sizeBytes, restorableUntilMs: restorableUntil(volume, missedMs) ?? 0 };
}
