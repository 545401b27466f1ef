import { z } from 'zod';
import { attachmentState, nodeId } from './node.ts';
import {
  capabilitySchema,
  name,
  segmentsSchema,
  sizeBytes,
  stringMap,
  topologyRequirementSchema,
} from './storage.ts';

const tenGibibytes = 10_737_418_240;
const capability = { accessType: 'mount', accessMode: 'SINGLE_NODE_WRITER', fsType: 'ext4' };

/** What a new volume is filled from. */
export const volumeSourceSchema = z
  .discriminatedUnion('kind', [
    z.strictObject({ kind: z.literal('snapshot'), snapshotId: z.string().min(1) }),
    z.strictObject({ kind: z.literal('volume'), volumeId: z.string().min(1) }),
  ])
  .meta({
    id: 'VolumeSource',
    description: 'What a new volume is filled from.',
    examples: [{ kind: 'snapshot', snapshotId: 'east.snap-1' }],
  });

/** What is asked of a new volume. */
export const volumeSpecSchema = z
  .strictObject({
    name: name.describe('The name that the caller gave it; the id is made from it.'),
    requiredBytes: sizeBytes
      .optional()
      .describe('Least size in bytes; absent or 0 leaves it to the backend.'),
    limitBytes: sizeBytes.optional().describe('Most size in bytes; absent or 0 means no limit.'),
    capabilities: z.array(capabilitySchema).min(1).max(64),
    parameters: stringMap.optional(),
    source: volumeSourceSchema.optional().describe('Absent: the volume starts empty.'),
    mutableParameters: stringMap.optional().describe('What can be changed later, as it is to be at first.'),
    topology: topologyRequirementSchema.optional().describe('Absent: the pool chooses where it lies.'),
  })
  .meta({
    id: 'VolumeSpec',
    description:
      'What is asked of a new volume. `name` is the one that its id is made from; bounds of 0 are none.',
    examples: [{ name: 'pvc-1', requiredBytes: tenGibibytes, capabilities: [capability] }],
  });

/** The size that a volume is to have at least and at most. */
export const sizeSpecSchema = z
  .strictObject({ requiredBytes: sizeBytes.optional(), limitBytes: sizeBytes.optional() })
  .meta({
    id: 'SizeSpec',
    description: 'The size that a volume is to have at least and at most; bounds of 0 are none.',
    examples: [{ requiredBytes: 2 * tenGibibytes }],
  });

/** What is to be changed, others staying as they are. */
export const parametersSpecSchema = z.strictObject({ mutableParameters: stringMap }).meta({
  id: 'ParametersSpec',
  description: 'The mutable parameters to change.',
  examples: [{ mutableParameters: { tier: 'fast' } }],
});

const volumeExample = {
  id: 'east.pvc-1',
  name: 'pvc-1',
  pool: 'fast',
  state: 'ready',
  sizeBytes: tenGibibytes,
  parameters: {},
  context: {},
  attachments: [{ nodeId: 'node-1', state: 'attached', readonly: false }],
  createdAt: '2026-01-31T12:00:00.000Z',
};

/** A volume as the API returns it. `state` says what runs on it. */
export const volumeSchema = z
  .object({
    id: z.string(),
    name,
    pool: z.string(),
    state: z.enum(['creating', 'ready', 'deleting']),
    sizeBytes: sizeBytes.describe('What was allocated; 0 while creating.'),
    parameters: stringMap,
    context: stringMap.describe(
      'What nodes get at every mount (CSI volume_context): immutable and not secret.',
    ),
    attachments: z.array(z.object({ nodeId, state: attachmentState, readonly: z.boolean() })),
    createdAt: z.string(),
    source: volumeSourceSchema.optional(),
    mutableParameters: stringMap.optional(),
    nodeExpansionRequired: z
      .boolean()
      .optional()
      .describe('The volume has grown since it was made, and nodes must grow the filesystem.'),
    pending: z
      .array(z.enum(['expansion', 'modification']))
      .optional()
      .describe('What was begun on a volume that is ready otherwise, and is not done yet.'),
    topology: z
      .array(segmentsSchema)
      .optional()
      .describe('It is reached from where one of these holds; absent: from everywhere.'),
  })
  .meta({
    id: 'Volume',
    description:
      'A volume. `sizeBytes` is what was allocated, 0 while `creating`; `pending` is what was begun and is not done.',
    examples: [volumeExample],
  });

/** One page of volumes, ordered by id. No `nextPageToken` means that it is the last. */
export const volumePageSchema = z
  .object({ volumes: z.array(volumeSchema), nextPageToken: z.string().optional() })
  .meta({
    id: 'VolumePage',
    description: 'One page of volumes, by id; without `nextPageToken` the last.',
    examples: [{ volumes: [volumeExample] }],
  });

/** A question that changes nothing: can these capabilities and parameters be had? */
export const validationSpecSchema = z
  .strictObject({
    capabilities: z.array(capabilitySchema).min(1).max(64),
    parameters: stringMap.optional(),
    context: stringMap.optional(),
    mutableParameters: stringMap.optional(),
  })
  .meta({
    id: 'ValidationSpec',
    description: 'A way to use a volume.',
    examples: [{ capabilities: [capability] }],
  });

/** The answer to a validation. */
export const validationSchema = z.object({ confirmed: z.boolean(), message: z.string().optional() }).meta({
  id: 'Validation',
  description: 'Confirmed, or the reason why not.',
  examples: [{ confirmed: true }],
});

const healthExample = {
  volumeId: 'east.pvc-1',
  entries: [{ status: 'DATA_LOSS', reason: 'ImageMissing', message: 'the image is missing' }],
};

/** What is wrong with a volume; no entries: nothing that is known. */
export const healthSchema = z
  .object({
    volumeId: z.string(),
    entries: z.array(
      z.object({
        status: z.enum(['DEGRADED', 'INACCESSIBLE', 'DATA_LOSS']),
        reason: z.string(),
        message: z.string(),
      }),
    ),
  })
  .meta({
    id: 'Health',
    description: 'What is wrong with a volume; no entries: nothing that is known.',
    examples: [healthExample],
  });

/** One page of the volumes with which something is wrong; it may have few, or none, and yet a next page. */
export const healthPageSchema = z
  .object({ volumes: z.array(healthSchema), nextPageToken: z.string().optional() })
  .meta({
    id: 'HealthPage',
    description: 'One page of the volumes with which something is wrong; it may be empty and not the last.',
    examples: [{ volumes: [healthExample] }],
  });

export type VolumeSource = z.infer<typeof volumeSourceSchema>;
export type VolumeSpec = z.infer<typeof volumeSpecSchema>;
export type SizeSpec = z.infer<typeof sizeSpecSchema>;
export type Volume = z.infer<typeof volumeSchema>;
export type VolumePage = z.infer<typeof volumePageSchema>;
export type ValidationSpec = z.infer<typeof validationSpecSchema>;
export type Validation = z.infer<typeof validationSchema>;
export type Health = z.infer<typeof healthSchema>;
export type HealthPage = z.infer<typeof healthPageSchema>;
