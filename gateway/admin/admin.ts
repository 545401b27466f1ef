import type { DeletedVolume, Unasked } from '../../src/api/admin.ts';
import type { Operations as Rows, Output, Request } from '../../src/api/operations.ts';
import { Problem } from '../../src/api/problem.ts';
import { readInPieces } from '../tables/paging.ts';
import { volumeTable, type VolumeRecord } from '../tables/volumes.ts';
import { audit, type Audit } from './audit.ts';
import { createListings } from './listings.ts';
import type { ListingOptions } from './state.ts';
import { createTenancy, type TenancyOptions } from './tenancy.ts';
import { listAuditLog } from './audit-log.ts';
import { plan, repair, type RepairOptions } from './repair.ts';

/** The rows that are for operators. */
type AdminId = {
  readonly [Id in keyof Rows]: Rows[Id]['route'] extends `${string} /v1/admin/${string}` ? Id : never;
}[keyof Rows];

/** What operators do, one member for each of their operations. */
export type Admin = {
  readonly [Id in AdminId]: (request: Request<Rows[Id]>) => Promise<Output<Rows[Id]>>;
};

/** What the work of operators needs. */
export type AdminOptions = TenancyOptions & Omit<RepairOptions, 'stuckAfterMs'> & ListingOptions;

/** Most entries in an answer, which is to stay below what a body may have. */
const maxEntries = 10_000;

/** Makes what operators do. Other gateways on the store may work meanwhile: claims keep them apart. */
export function createAdmin(options: AdminOptions): Admin {
  const { reader } = options.engine;
  return {
    ...createListings(options),
    ...createTenancy(options),

    async audit({ stuckAfterMs }) {
      const { findings, unasked } = await audit({ ...options, stuckAfterMs });
      return { findings: findings.slice(0, maxEntries), total: findings.length, ...show(unasked) };
    },
    async repair({ body: { dryRun, stuckAfterMs, safetyAgeMs } }) {
      const settings = { ...options, stuckAfterMs };
      const found = await audit(settings);
      const planned = plan(found, safetyAgeMs);
      const steps = dryRun ? planned : await repair(settings, planned);
      return { steps: steps.slice(0, maxEntries), total: steps.length, ...show(found.unasked) };
    },
    listAuditLog: request => listAuditLog(options, request),
    async listDeletedVolumes({ limit, pageToken = '' }) {
      // The first condition lets the index of what is unfinished be used.
      const page = "and state <> 'ready' and id > ? order by id limit ?";
      const found = await readInPieces({ afterId: pageToken, limit: limit + 1 }, (afterId, count) =>
        options.turns.take('operator', () =>
          volumeTable.select(reader, { state: 'deleted' }, page, afterId, count),
        ),
      );
      const volumes = found.slice(0, limit).map(toDeletedVolume);
      const last = volumes.at(-1);
      return { volumes, ...(found.length > limit && last && { nextPageToken: last.id }) };
    },
    async restoreVolume({ volumeId: id }) {
      await options.operations.change({ operation: 'restore', kind: 'volume', id }, async sql => {
        await sql.lock('volume', id);
        const volume = await volumeTable.find(sql, { id });
        if (volume?.state === 'ready') return { result: undefined, isChanged: false };
        if (volume?.state !== 'deleted')
          throw new Problem('NOT_FOUND', `there is no soft-deleted volume "${id}"`);
        await volumeTable.update(sql, { id }, { state: 'ready', restorableUntilMs: undefined });
        return { result: undefined, isChanged: true };
      });
    },
  };
}

function show(unasked: Audit['unasked']): { readonly unasked?: Unasked[] } {
  return unasked.length > 0 ? { unasked: [...unasked] } : {};
}

function toDeletedVolume({ id, pool, sizeBytes, restorableUntilMs = 0 }: VolumeRecord): DeletedVolume {
  return { id, pool, sizeBytes, restorableUntilMs };
}
