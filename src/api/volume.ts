import { z } from 'zod';
import { attachmentState, nodeId } from './node.ts';
import {
  capabilityList,
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

/** What a new volume is filled from. */
export const volumeSourceSchema = z
  .discriminatedUnion('kind', [
    z.strictObject({ kind: z.literal('snapshot'), snapshotId: text('east.snap-1') }),
    z.strictObject({ kind: z.literal('volume'), volumeId }),
  ])
  .meta({ id: 'VolumeSource', description: 'What a new volume is filled from.' });

/** The size that a volume is to have at least and at most. */
export const sizeSpecSchema = z
  .strictObject({
    requiredBytes: sizeBytes.optional().describe('Least size in bytes; absent or 0: the backend decides.'),
    limitBytes: sizeBytes.optional().describe('Most size in bytes; absent or 0 means no limit.'),
  })
  .meta({ id: 'SizeSpec', description: 'The size that a volume is to have at least and at most.' });

/** What is asked of a new volume. */
export const volumeSpecSchema = z
  .strictObject({
    name: nameOf('pvc-1').describe('The name that the caller gave it; the id is made from it.'),
    ...sizeSpecSchema.shape,
    capabilities: capabilityList,
    parameters: stringMap.optional(),
    source: volumeSourceSchema.optional().describe('Absent: the volume starts empty.'),
    mutableParameters: stringMap.optional().describe('What can be changed later, as it is to be at first.'),
    topology: topologyRequirementSchema.optional().describe('Absent: the pool chooses where it lies.'),
  })
  .meta({ id: 'VolumeSpec', description: 'What is asked of a new volume.' });

/** What is to be changed, others staying as they are. */
export const parametersSpecSchema = z
  .strictObject({ mutableParameters: stringMap })
  .meta({ id: 'ParametersSpec', description: 'The mutable parameters to change.' });

/** How a volume is shared. */
export const grantAccess = z.enum(['read-only', 'read-write']);

/** How a volume is to be shared. */
export const grantSpecSchema = z
  .strictObject({ access: grantAccess })
  .meta({ id: 'GrantSpec', description: 'How a volume is to be shared with another cluster.' });

/** A volume that is shared with a cluster. */
export const grantSchema = z
  .object({ volumeId, cluster: text('west'), access: grantAccess })
  .meta({ id: 'Grant', description: 'What another cluster than its owner may do with a volume.' });

/** A volume as the API returns it. */
export const volumeSchema = z
  .object({
    id: volumeId,
    name: nameOf('pvc-1'),
    pool: poolName.optional().describe('Absent where the storage has no pools.'),
    state: z.enum(['creating', 'ready', 'deleting']).meta({ examples: ['ready'] }),
    sizeBytes: sizeBytes.describe('What was allocated; 0 while creating.'),
    parameters: stringMap,
    context: stringMap.describe('CSI volume_context: what nodes get at every mount, not secret.'),
    attachments: z.array(z.object({ nodeId, state: attachmentState, readonly: z.boolean() })),
    createdAt: time,
    source: volumeSourceSchema.optional(),
    mutableParameters: stringMap.optional(),
    nodeExpansionRequired: z.boolean().optional().describe('Nodes must grow the filesystem: it has grown.'),
    pending: z
      .array(z.enum(['expansion', 'modification']))
      .optional()
      .describe('What was begun and is not done.'),
    topology: topologies.describe('It is reached from where one of these holds; absent: from everywhere.'),
    owner: text('east').optional().describe('Whose it is, where it is shared with the cluster that asks.'),
    access: grantAccess.optional().describe('How it is shared with the cluster that asks.'),
    grants: z
      .array(z.object({ cluster: text('west'), access: grantAccess }))
      .optional()
      .describe('To its owner: with whom it is shared.'),
  })
  .meta({ id: 'Volume', description: 'A volume; `state` says what runs on it.' });

/** One page of volumes, ordered by id. No `nextPageToken` means that it is the last. */
export const volumePageSchema = z
  .object({ volumes: z.array(volumeSchema), nextPageToken: z.string().optional() })
  .meta({ id: 'VolumePage', description: 'One page of volumes, by id; without `nextPageToken` the last.' });

/** A question that changes nothing: can these capabilities and parameters be had? */
export const validationSpecSchema = z
  .strictObject({
    capabilities: capabilityList,
    parameters: stringMap.optional(),
    context: stringMap.optional(),
    mutableParameters: stringMap.optional(),
  })
  .meta({ id: 'ValidationSpec', description: 'A way to use a volume.' });

/** The answer to a validation. */
export const validationSchema = z
  .object({ confirmed: z.boolean(), message: z.string().optional() })
  .meta({ id: 'Validation', description: 'Confirmed, or the reason why not.' });

/** What is wrong with a volume; no entries: nothing that is known. */
export const healthSchema = z
  .object({
    volumeId,
    entries: z.array(
      z.object({
        status: z.enum(['DEGRADED', 'INACCESSIBLE', 'DATA_LOSS']),
        reason: text('ImageMissing'),
        message: text('the image is missing'),
      }),
    ),
  })
  .meta({ id: 'Health', description: 'What is wrong with a volume; no entries: nothing that is known.' });

/** One page of the volumes with which something is wrong; it may have few, or none, and yet a next page. */
export const healthPageSchema = z
  .object({ volumes: z.array(healthSchema), nextPageToken: z.string().optional() })
  .meta({
    id: 'HealthPage',
    description: 'A page of volumes with faults; one may be empty and not the last.',
  });

export type VolumeSource = z.infer<typeof volumeSourceSchema>;
export type VolumeSpec = z.infer<typeof volumeSpecSchema>;
export type SizeSpec = z.infer<typeof sizeSpecSchema>;
export type Grant = z.infer<typeof grantSchema>;
export type GrantSpec = z.infer<typeof grantSpecSchema>;
export type Volume = z.infer<typeof volumeSchema>;
export type VolumePage = z.infer<typeof volumePageSchema>;
export type ValidationSpec = z.infer<typeof validationSpecSchema>;
export type Validation = z.infer<typeof validationSchema>;
export type Health = z.infer<typeof healthSchema>;
export type HealthPage = z.infer<typeof healthPageSchema>;
