import * as z from 'zod';
import { limits } from './limits.ts';
import {
  nameOf,
  pageSchemaOf,
  poolName,
  sizeBytes,
  stringMap,
  text,
  time,
  topologies,
  topologyRequirementSchema,
  volumeId,
} from './storage.ts';

const name = nameOf('snap-1');

export const snapshotSpecSchema = z
  .strictObject({
    name,
    volumeId,
    parameters: stringMap.optional(),
    topology: topologyRequirementSchema
      .optional()
      .describe('The topologies that must reach volumes made from it.'),
  })
  .meta({ id: 'SnapshotSpec', description: 'The request for a new snapshot.' });

const state = z.enum(['creating', 'processing', 'ready', 'deleting']).meta({ examples: ['ready'] });

export const snapshotSchema = z
  .object({
    id: text('east.snap-1'),
    name,
    pool: poolName.optional().describe('Absent if the storage has no pools.'),
    volumeId,
    groupId: text('east.group-1').optional().describe('Its group; a member cannot be deleted alone.'),
    state,
    sizeBytes: sizeBytes.describe("The volume's size at that time; 0 while it is being created."),
    createdAt: time.describe('The time of the snapshot; until it is taken, the time of the request.'),
    topology: topologies.describe('A node in any of these topologies reaches volumes that are made from it.'),
    owner: text('east').optional().describe('The owner, if the calling cluster was only granted copies.'),
  })
  .meta({ id: 'Snapshot', description: 'A snapshot; once it is `ready`, volumes can be made from it.' });

/** One page of created snapshots, ordered by id. The last page has no `nextPageToken`. */
export const snapshotPageSchema = pageSchemaOf('snapshots', snapshotSchema, {
  id: 'SnapshotPage',
  description: 'One page of snapshots, by id. The last page has no `nextPageToken`.',
});

/** The request for a new group of snapshots. */
export const groupSpecSchema = z
  .strictObject({
    name: nameOf('group-1'),
    volumeIds: z
      .array(volumeId)
      .min(1)
      .max(limits.groupMembers.max)
      .refine(ids => new Set(ids).size === ids.length, 'must name each volume once')
      .meta({ uniqueItems: true }),
    parameters: stringMap.optional(),
  })
  .meta({ id: 'GroupSpec', description: 'The volumes to snapshot at one point in time, each named once.' });

/** Snapshots of several volumes, taken at one point in time. */
export const groupSchema = z
  .object({
    id: text('east.group-1'),
    name: nameOf('group-1'),
    state,
    snapshots: z.array(snapshotSchema).describe('One for each volume, in the order of the request.'),
    createdAt: time,
  })
  .meta({
    id: 'Group',
    description: 'Snapshots at one point in time; the group is `ready` once all of them are.',
  });

/** One page of extents, in order, without overlap, and after the offset. The last page has no `nextOffset`. */
export const blockPageSchema = z
  .object({
    sizeBytes: sizeBytes.describe("The snapshot's size; the same on all pages."),
    blocks: z.array(z.object({ offset: sizeBytes, length: z.int().positive() })),
    nextOffset: sizeBytes.optional(),
  })
  .meta({
    id: 'BlockPage',
    description: 'Blocks in order and without overlap. The last page has no `nextOffset`.',
  });

export type SnapshotSpec = z.infer<typeof snapshotSpecSchema>;
export type Snapshot = z.infer<typeof snapshotSchema>;
export type SnapshotPage = z.infer<typeof snapshotPageSchema>;
export type GroupSpec = z.infer<typeof groupSpecSchema>;
export type Group = z.infer<typeof groupSchema>;
export type BlockPage = z.infer<typeof blockPageSchema>;
