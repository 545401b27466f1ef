import { z } from 'zod';
import { fromQuery, poolName, sizeBytes, text, volumeId } from './storage.ts';

export * from './admin/audit-log.ts';
export * from './admin/listings.ts';
export * from './admin/tenancy.ts';

const milliseconds = z.int().nonnegative();
const toStuckAfter = (given: z.ZodType<number, number>) =>
  given
    .default(600_000)
    .describe('Work that is not done after so many milliseconds is stuck; without it 600000.');

/** What an audit takes. */
export const auditQuery = z.object({ stuckAfterMs: toStuckAfter(fromQuery(milliseconds)) });

/** Something that the storage and the store do not agree on. */
export const findingSchema = z
  .object({
    pool: poolName,
    kind: z.enum(['volume', 'snapshot']),
    id: volumeId,
    problem: z
      .enum(['unknown', 'missing', 'stuck'])
      .describe('`unknown`: not in the store; `missing`: not in the storage; `stuck`: work does not end.'),
    ageMs: z.int().describe('Since when it is so, as far as audits have seen, in milliseconds.'),
    detail: text('in the storage, not in the store').describe('What was found, for people.'),
  })
  .meta({ id: 'Finding', description: 'Something that the storage and the store do not agree on.' });

const total = z.int().describe('How many there are, also where not all are shown.');

/** A pool whose storage could not be asked. */
export const unaskedSchema = z
  .object({ pool: poolName, detail: text('the storage API cannot be reached').describe('Why, for people.') })
  .meta({ id: 'Unasked', description: 'A pool whose storage could not be asked what it has.' });

/** Absent where every storage was asked. */
const unasked = z.array(unaskedSchema).optional().describe('Pools whose storage could not be asked.');

/** What an audit found. */
export const auditSchema = z.object({ findings: z.array(findingSchema), total, unasked }).meta({
  id: 'Audit',
  description: 'What the storage and the store do not agree on; at most 10000 findings.',
});

/** What a repair may do. */
export const repairSpecSchema = z
  .strictObject({
    dryRun: z.boolean().default(true).describe('True: it only shows what it would do.'),
    stuckAfterMs: toStuckAfter(milliseconds),
    safetyAgeMs: z
      .int()
      .nonnegative()
      .default(3_600_000)
      .describe('For so long audits must have seen what is unknown before it is removed.'),
  })
  .meta({ id: 'RepairSpec', description: 'What a repair may do.' });

/** A finding, and what a repair does about it. */
export const repairStepSchema = findingSchema
  .extend({
    action: z.enum(['remove', 'finish', 'none']),
    outcome: z.enum(['done', 'failed', 'left']).optional().describe('Absent: nothing was tried.'),
    note: z.string().describe('Why nothing is done, or what failed.'),
  })
  .meta({ id: 'RepairStep', description: 'A finding, and what a repair does about it.' });

/** What a repair did, or would do. */
export const repairSchema = z
  .object({ steps: z.array(repairStepSchema), total, unasked })
  .meta({ id: 'Repair', description: 'What a repair did, or would do; at most 10000 steps are shown.' });

/** A soft-deleted volume. */
export const deletedVolumeSchema = z
  .object({
    id: volumeId,
    pool: poolName,
    sizeBytes,
    restorableUntilMs: z.int().describe('When it is deleted for good, in milliseconds since the epoch.'),
  })
  .meta({ id: 'DeletedVolume', description: 'A volume that is deleted and can be restored.' });

/** One page of soft-deleted volumes. */
export const deletedVolumePageSchema = z
  .object({ volumes: z.array(deletedVolumeSchema), nextPageToken: z.string().optional() })
  .meta({ id: 'DeletedVolumePage', description: 'A page of volumes that are deleted and can be restored.' });

export type DeletedVolume = z.infer<typeof deletedVolumeSchema>;
export type Finding = z.infer<typeof findingSchema>;
export type Unasked = z.infer<typeof unaskedSchema>;
export type RepairStep = z.infer<typeof repairStepSchema>;
