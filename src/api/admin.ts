import * as z from 'zod';
import { findingSchema } from './admin/findings.ts';
import { fromQuery, pageSchemaOf, poolName, sizeBytes, text, volumeId } from './storage.ts';

export * from './admin/actions.ts';
export * from './admin/audit-log.ts';
export * from './admin/findings.ts';
export * from './admin/history.ts';
export * from './admin/listings.ts';
export * from './admin/status.ts';
export * from './admin/sharing.ts';

const milliseconds = z.int().nonnegative();
const toStuckAfter = (given: z.ZodType<number, number>) =>
  given
    .default(600_000)
    .describe('Time in milliseconds after which unfinished work counts as stuck; 600000 by default.');

export const checkQuery = z.object({ stuckAfterMs: toStuckAfter(fromQuery(milliseconds)) });

const total = z.int().describe('The total number, even if not all are shown.');

/** A pool whose storage did not answer the check. */
export const uncheckedPoolSchema = z
  .object({
    pool: poolName,
    detail: text('the storage API cannot be reached').describe('The reason, for people.'),
  })
  .meta({ id: 'UncheckedPool', description: 'A pool whose storage could not list its volumes.' });

const unchecked = z
  .array(uncheckedPoolSchema)
  .optional()
  .describe('The pools whose storage could not list its volumes; absent if there are none.');

export const checkResultSchema = z.object({ findings: z.array(findingSchema), total, unchecked }).meta({
  id: 'CheckResult',
  description: 'The differences between the storage and the store; at most 1000 findings.',
});

export const repairSpecSchema = z
  .strictObject({
    dryRun: z.boolean().default(true).describe('True: only shows the steps and changes nothing.'),
    stuckAfterMs: toStuckAfter(milliseconds),
    safetyAgeMs: z
      .int()
      .nonnegative()
      .default(3_600_000)
      .describe('Unknown volumes and snapshots are removed once checks have seen them for this time.'),
  })
  .meta({ id: 'RepairSpec', description: 'The options of a repair.' });

export const repairStepSchema = findingSchema
  .extend({
    action: z.enum(['remove', 'finish', 'none']),
    outcome: z.enum(['done', 'failed', 'left']).optional().describe('Absent: nothing was tried.'),
    note: z.string().describe('The reason why nothing is done, or the failure.'),
  })
  .meta({ id: 'RepairStep', description: 'A finding with the action of a repair.' });

/** The steps of a repair, taken or only planned. */
export const repairSchema = z
  .object({ steps: z.array(repairStepSchema), total, unchecked })
  .meta({ id: 'Repair', description: 'The steps of a repair, taken or planned; at most 1000 are shown.' });

export const deletedVolumeSchema = z
  .object({
    id: volumeId,
    pool: poolName,
    sizeBytes,
    restorableUntilMs: z.int().describe('The time of the final deletion, in milliseconds since the epoch.'),
  })
  .meta({ id: 'DeletedVolume', description: 'A deleted volume that can be restored.' });

export const deletedVolumePageSchema = pageSchemaOf('volumes', deletedVolumeSchema, {
  id: 'DeletedVolumePage',
  description: 'One page of deleted volumes that can be restored.',
});

export type DeletedVolume = z.infer<typeof deletedVolumeSchema>;
export type UncheckedPool = z.infer<typeof uncheckedPoolSchema>;
export type RepairStep = z.infer<typeof repairStepSchema>;
