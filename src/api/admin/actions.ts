import { z } from 'zod';
import { attachmentState, nodeId } from '../node.ts';
import { text, time } from '../storage.ts';

const cluster = text('east');
const dryRun = z
  .boolean()
  .default(false)
  .describe('True: only says what would be done, and changes nothing.');

/** The nodes from which an operator detaches a volume. */
export const detachmentSpecSchema = z
  .strictObject({
    nodeId: nodeId
      .optional()
      .describe("The node's id, with or without its key; absent: all nodes that have the volume."),
    cluster: cluster.optional().describe("The node's cluster; absent: every cluster."),
    force: z
      .boolean()
      .default(false)
      .describe('True: also from nodes that their clusters still report, whose pods may use the volume.'),
    dryRun,
  })
  .meta({ id: 'DetachmentSpec', description: 'The nodes from which an operator detaches a volume.' });

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
  .meta({ id: 'Deletion', description: 'The outcome of a deletion, or what it would be.' });

export type Detachment = z.infer<typeof detachmentSchema>;
export type Deletion = z.infer<typeof deletionSchema>;
