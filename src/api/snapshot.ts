import { z } from 'zod';
import {
  nameOf,
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

/** What is asked of a new snapshot. */
export const snapshotSpecSchema = z
  .strictObject({
    name,
    volumeId,
    parameters: stringMap.optional(),
    topology: topologyRequirementSchema.optional().describe('Where volumes made of it must be reached from.'),
  })
  .meta({ id: 'SnapshotSpec', description: 'What is asked of a new snapshot.' });

const state = z.enum(['creating', 'processing', 'ready', 'deleting']).meta({ examples: ['ready'] });

/** A snapshot as the API returns it. */
export const snapshotSchema = z
  .object({
    id: text('east.snap-1'),
    name,
    pool: poolName.optional().describe('Absent where the storage has no pools.'),
    volumeId,
    groupId: text('east.group-1').optional().describe('Its group; it cannot be deleted alone then.'),
    state,
    sizeBytes: sizeBytes.describe("The volume's size at that time; 0 while it is being created."),
    createdAt: time.describe('When it was taken; before that, when it was asked for.'),
    topology: topologies.describe('Volumes made from it are reached from where one of these holds.'),
  })
  .meta({ id: 'Snapshot', description: 'A snapshot; once it is `ready`, volumes can be made from it.' });

/** One page of snapshots that are created, ordered by id. No `nextPageToken` means that it is the last. */
export const snapshotPageSchema = z
  .object({ snapshots: z.array(snapshotSchema), nextPageToken: z.string().optional() })
  .meta({ id: 'SnapshotPage', description: 'A page of snapshots, by id; without `nextPageToken` the last.' });

/** What is asked of a new group of snapshots. */
export const groupSpecSchema = z
  .strictObject({
    name: nameOf('group-1'),
    volumeIds: z
      .array(volumeId)
      .min(1)
      .max(64)
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
    snapshots: z.array(snapshotSchema).describe('One for each volume, in the order asked.'),
    createdAt: time,
  })
  .meta({ id: 'Group', description: 'Snapshots at one point in time; ready once all of them are.' });

/** Extents in increasing order, without overlap, all after the offset; the last without `nextOffset`. */
export const blockPageSchema = z
  .object({
    sizeBytes: sizeBytes.describe("The snapshot's size; the same on all pages."),
    blocks: z.array(z.object({ offset: sizeBytes, length: z.int().positive() })),
    nextOffset: sizeBytes.optional(),
  })
  .meta({ id: 'BlockPage', description: 'Blocks in order, without overlap; without `nextOffset` the last.' });

export type SnapshotSpec = z.infer<typeof snapshotSpecSchema>;
export type Snapshot = z.infer<typeof snapshotSchema>;
export type SnapshotPage = z.infer<typeof snapshotPageSchema>;
export type GroupSpec = z.infer<typeof groupSpecSchema>;
export type Group = z.infer<typeof groupSchema>;
export type BlockPage = z.infer<typeof blockPageSchema>;
