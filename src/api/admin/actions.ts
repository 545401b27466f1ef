import { z } from 'zod';
import { attachmentState, nodeId } from '../node.ts';
import { sizeBytes, text, time } from '../storage.ts';

const cluster = text('east');
const count = z.int().nonnegative();
const dryRun = z.boolean().default(false).describe('True: returns the effect without changing anything.');

export const detachmentSpecSchema = z
  .strictObject({
    nodeId: nodeId
      .optional()
      .describe("The node's id, with or without its key; absent: all nodes that have the volume."),
    cluster: cluster.optional().describe("The node's cluster; absent: every cluster."),
    force: z
      .boolean()
      .default(false)
      .describe('True: also from nodes that their clusters still report and that may use the volume.'),
    dryRun,
  })
  .meta({ id: 'DetachmentSpec', description: 'A request to detach a volume from one node or several.' });

export const detachmentSchema = z
  .object({
    attachments: z
      .array(z.object({ cluster, nodeId, state: attachmentState, readonly: z.boolean() }))
      .describe('The attachments as they were before; empty if the volume was not attached there.'),
  })
  .meta({ id: 'Detachment', description: 'The attachments that were detached, or would be.' });

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

export type Detachment = z.infer<typeof detachmentSchema>;
export type Deletion = z.infer<typeof deletionSchema>;
export type PoolDrain = z.infer<typeof poolDrainSchema>;
