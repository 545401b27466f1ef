import * as z from 'zod';
import { attachmentState, nodeId } from './node.ts';
import {
  capabilityList,
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

/** The source of a new volume's data. */
export const volumeSourceSchema = z
  .discriminatedUnion('kind', [
    z.strictObject({ kind: z.literal('snapshot'), snapshotId: text('east.snap-1') }),
    z.strictObject({ kind: z.literal('volume'), volumeId }),
  ])
  .meta({ id: 'VolumeSource', description: "The source of a new volume's data." });

/** The minimum and maximum size of a volume. */
export const sizeSpecSchema = z
  .strictObject({
    requiredBytes: sizeBytes.optional().describe('Minimum size in bytes; absent or 0: the backend decides.'),
    limitBytes: sizeBytes.optional().describe('Maximum size in bytes; absent or 0: no limit.'),
  })
  .meta({ id: 'SizeSpec', description: 'The minimum and maximum size of a volume.' });

/** A volume that the storage had before, with the words of its PersistentVolume. */
export const existingVolumeSchema = z
  .strictObject({
    driver: text('ebs.csi.aws.com').describe('The CSI driver that made it.'),
    handle: text('vol-0123').describe('Its `volumeHandle`.'),
    context: stringMap.default({}).describe('Its `volumeAttributes`.'),
  })
  .meta({ id: 'ExistingVolume', description: 'A volume that a CSI driver made before.' });

export const volumeSpecSchema = z
  .strictObject({
    name: nameOf('pvc-1').describe("The caller's name for the volume. The id is made from it."),
    ...sizeSpecSchema.shape,
    capabilities: capabilityList,
    parameters: stringMap.optional(),
    source: volumeSourceSchema.optional().describe('Absent: the volume starts empty.'),
    mutableParameters: stringMap
      .optional()
      .describe('The initial values of parameters that can be changed later.'),
    topology: topologyRequirementSchema.optional().describe('Absent: the pool chooses the location.'),
    existing: existingVolumeSchema
      .optional()
      .describe(
        'Only with the feature `import`, from a gateway on behalf of its operator: the volume exists, and stays as it is. A gateway refuses it.',
      ),
  })
  .meta({ id: 'VolumeSpec', description: 'The request for a new volume.' });

/** The mutable parameters to change; other parameters stay unchanged. */
export const parametersSpecSchema = z
  .strictObject({ mutableParameters: stringMap })
  .meta({ id: 'ParametersSpec', description: 'The mutable parameters to change.' });

/** The access of a cluster to a shared volume. */
const grantAccess = z.enum(['read-only', 'read-write']);

export const grantSpecSchema = z
  .strictObject({ access: grantAccess })
  .meta({ id: 'GrantSpec', description: 'The access of another cluster to a shared volume.' });

const isAccepted = z
  .literal(false)
  .optional()
  .describe('False: the cluster has not agreed yet, so the grant is not valid. Absent: it has agreed.');

export const grantSchema = z
  .object({ volumeId, cluster: text('west'), access: grantAccess, isAccepted })
  .meta({ id: 'Grant', description: "The grant of a volume to a cluster other than the volume's owner." });

/** A cluster that may create volumes from a source of another cluster. */
export const copier = z.object({ cluster: text('west'), isAccepted });

export const copyGrantSchema = copier
  .extend({ sources: z.array(text('east.snap-1')).describe('The ids; for a group, those of its members.') })
  .meta({ id: 'CopyGrant', description: 'The right of another cluster to create volumes from sources.' });

export const volumeSchema = z
  .object({
    id: volumeId,
    name: nameOf('pvc-1'),
    pool: poolName.optional().describe('Absent if the storage has no pools.'),
    state: z.enum(['creating', 'ready', 'deleting']).meta({ examples: ['ready'] }),
    sizeBytes: sizeBytes.describe('The allocated size; 0 while `creating`.'),
    parameters: stringMap,
    context: stringMap.describe('The CSI volume_context, which nodes get at every mount; not secret.'),
    attachments: z.array(z.object({ nodeId, state: attachmentState, readonly: z.boolean() })),
    createdAt: time,
    source: volumeSourceSchema.optional(),
    mutableParameters: stringMap.optional(),
    nodeExpansionRequired: z
      .boolean()
      .optional()
      .describe('True: the volume has grown, and nodes must grow its filesystem.'),
    pending: z
      .array(z.enum(['expansion', 'modification']))
      .optional()
      .describe('Changes that have been started and are not done.'),
    topology: topologies.describe(
      'A node in any of these topologies reaches the volume; absent: every node does.',
    ),
    owner: text('east').optional().describe('The owner, if the volume is shared with the calling cluster.'),
    access: grantAccess.optional().describe('The access of the calling cluster to a shared volume.'),
    grants: z
      .array(z.object({ cluster: text('west'), access: grantAccess, isAccepted }))
      .optional()
      .describe('The clusters with which it is shared; shown to its owner only.'),
  })
  .meta({ id: 'Volume', description: 'A volume; `state` tells the operation that runs on it.' });

/** One page of volumes, ordered by id. The last page has no `nextPageToken`. */
export const volumePageSchema = pageSchemaOf('volumes', volumeSchema, {
  id: 'VolumePage',
  description: 'One page of volumes, by id. The last page has no `nextPageToken`.',
});

/** The request to check capabilities and parameters without a change. */
export const validationSpecSchema = z
  .strictObject({
    capabilities: capabilityList,
    parameters: stringMap.optional(),
    context: stringMap.optional(),
    mutableParameters: stringMap.optional(),
  })
  .meta({ id: 'ValidationSpec', description: 'A way to use a volume.' });

export const validationSchema = z
  .object({ confirmed: z.boolean(), message: z.string().optional() })
  .meta({ id: 'Validation', description: 'The confirmation, or the reason for a refusal.' });

/** The known faults of a volume. */
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
  .meta({ id: 'Health', description: 'The known faults of a volume.' });

/** One page of the volumes with faults. Even a page with few or no entries may have a next page. */
export const healthPageSchema = pageSchemaOf('volumes', healthSchema, {
  id: 'HealthPage',
  description: 'A page of volumes with faults; one may be empty and not the last.',
});

export type VolumeSource = z.infer<typeof volumeSourceSchema>;
export type ExistingVolume = z.infer<typeof existingVolumeSchema>;
export type VolumeSpec = z.infer<typeof volumeSpecSchema>;
export type SizeSpec = z.infer<typeof sizeSpecSchema>;
export type Grant = z.infer<typeof grantSchema>;
export type Copier = z.infer<typeof copier>;
export type CopyGrant = z.infer<typeof copyGrantSchema>;
export type GrantSpec = z.infer<typeof grantSpecSchema>;
export type Volume = z.infer<typeof volumeSchema>;
export type VolumePage = z.infer<typeof volumePageSchema>;
export type ValidationSpec = z.infer<typeof validationSpecSchema>;
export type Validation = z.infer<typeof validationSchema>;
export type Health = z.infer<typeof healthSchema>;
export type HealthPage = z.infer<typeof healthPageSchema>;
