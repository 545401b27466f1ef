import * as z from 'zod';
import { attachmentState, nodeId } from '../node.ts';
import { sizeBytes, text, time } from '../storage.ts';

const cluster = text('east');
const count = z.int().nonnegative();
export const dryRun = z
  .boolean()
  .default(false)
  .describe('True: returns the effect without changing anything.');

export const detachmentSpecSchema = z
  .strictObject({
    nodeId: nodeId
      .optional()
      .describe("The node's id, with or without its key; absent: all nodes that have the volume."),
    cluster: cluster.optional().describe("The node's cluster; absent: every cluster."),
    force: z
      .boolean()
      .default(false)
      .describe('True: also from nodes that their clusters have not deleted; pods there may use the volume.'),
    dryRun,
  })
  .meta({ id: 'DetachmentSpec', description: 'A request to detach a volume from one node or several.' });

export const detachmentSchema = z
  .object({
    attachments: z
      .array(z.object({ cluster, nodeId, state: attachmentState, readonly: z.boolean() }))
      .describe('The attachments as they were before; empty if the volume was not attached there.'),
    isCutOff: z
      .boolean()
      .describe('False: the pool cannot cut a node off, so a node that still runs can read and write.'),
  })
  .meta({ id: 'Detachment', description: 'The attachments that were detached, or would be.' });

export const nodeDetachmentSpecSchema = z
  .strictObject({
    force: z
      .boolean()
      .default(false)
      .describe(
        'True: also if its cluster has not deleted the node, whose pods may use volumes, or if a pool cannot cut it off.',
      ),
    dryRun,
  })
  .meta({ id: 'NodeDetachmentSpec', description: 'A request to detach all volumes from a node.' });

export const nodeDetachmentSchema = z
  .object({
    attachments: z
      .array(z.object({ volumeId: text('east.pvc-1'), state: attachmentState, readonly: z.boolean() }))
      .describe('The attachments as they were before; at most 1000 are shown.'),
    total: count.describe('The total number of attachments, even if not all are shown.'),
    isCutOff: z
      .boolean()
      .describe('False: a pool cannot cut the node off, so a node that still runs can read and write.'),
  })
  .meta({ id: 'NodeDetachment', description: 'The volumes that were detached from a node, or would be.' });

export const deletionSpecSchema = z
  .strictObject({ dryRun })
  .meta({ id: 'DeletionSpec', description: 'The options of a deletion by an operator.' });

export const deletionSchema = z
  .object({
    outcome: z
      .enum(['deleted', 'soft-deleted', 'missing'])
      .describe('`soft-deleted`: it can be restored; `missing`: there is no such volume.'),
    restorableUntil: time.optional().describe("The time of a soft-deleted volume's final deletion."),
  })
  .meta({ id: 'Deletion', description: 'The outcome of a deletion, or the expected one.' });

export const snapshotDeletionSchema = z
  .object({
    snapshots: z
      .array(text('east.snap-1'))
      .describe('The ids of the snapshots; empty if there was no such snapshot or group.'),
  })
  .meta({ id: 'SnapshotDeletion', description: 'The snapshots that were deleted, or would be.' });

export const drainSpecSchema = z
  .strictObject({
    end: z.boolean().default(false).describe('True: the pool takes new volumes again.'),
    dryRun,
  })
  .meta({ id: 'DrainSpec', description: 'The options of a drain.' });

export const poolDrainSchema = z
  .object({
    isDrained: z.boolean().describe('True: the pool takes no new volumes.'),
    left: z
      .array(z.object({ cluster, volumes: count, snapshots: count, reservedBytes: sizeBytes }))
      .describe(
        'The resources that are still in the pool, by cluster, including volumes that can be restored.',
      ),
  })
  .meta({ id: 'PoolDrain', description: 'A drained pool and its remaining resources.' });

const retirementOptions = {
  snapshots: z
    .enum(['keep', 'delete'])
    .default('keep')
    .describe('The fate of its snapshots, which cannot be transferred.'),
  force: z.boolean().default(false).describe('True: also detaches volumes from its nodes.'),
  end: z.boolean().default(false).describe('True: its tokens are accepted again, and nothing else changes.'),
  dryRun,
};

export const retirementSpecSchema = z
  .discriminatedUnion('volumes', [
    z.strictObject({
      volumes: z
        .enum(['keep', 'delete'])
        .optional()
        .describe('The fate of its volumes; absent: they are kept.'),
      ...retirementOptions,
    }),
    z.strictObject({
      volumes: z.literal('transfer').describe('Its volumes get another owner.'),
      to: text('west').describe('The cluster that gets its volumes; only with `transfer`.'),
      ...retirementOptions,
    }),
  ])
  .meta({ id: 'RetirementSpec', description: 'The options of a retirement.' });

export const retirementStepSchema = z
  .object({
    kind: z.enum(['attachment', 'snapshot', 'group', 'volume', 'node']),
    id: text('east.pvc-1'),
    action: z.enum(['detach', 'keep', 'delete', 'transfer', 'remove']),
    outcome: z
      .enum(['done', 'failed', 'left', 'planned'])
      .describe('`left`: not tried, because a volume is still attached to a node of the cluster.'),
    note: z.string().describe('The reason of a failure.'),
    isCutOff: z
      .literal(false)
      .optional()
      .describe('False: the pool cannot cut the node off, so a node that still runs can read and write.'),
  })
  .meta({
    id: 'RetirementStep',
    description: 'One attachment, snapshot, group, volume or node of a retired cluster.',
  });

export const retirementSchema = z
  .object({
    isRetired: z
      .boolean()
      .describe(
        'True: the tokens of the cluster are refused, and it gets nothing new. With `failed`, steps are left.',
      ),
    steps: z.array(retirementStepSchema),
    total: z.int().describe('The total number of steps, even if not all are shown.'),
    failed: count.describe(
      'The number of steps that failed. Remove the causes, and send the same request again.',
    ),
    snapshots: count.describe('The number of its snapshots that are left.'),
  })
  .meta({ id: 'Retirement', description: 'The steps of a retirement; at most 1000 are shown.' });

export type NodeDetachment = z.infer<typeof nodeDetachmentSchema>;
export type Detachment = z.infer<typeof detachmentSchema>;
export type Deletion = z.infer<typeof deletionSchema>;
export type SnapshotDeletion = z.infer<typeof snapshotDeletionSchema>;
export type Retirement = z.infer<typeof retirementSchema>;
export type RetirementStep = z.infer<typeof retirementStepSchema>;
export type PoolDrain = z.infer<typeof poolDrainSchema>;
