import { z } from 'zod';
import {
  areAddresses,
  attachmentFields,
  commonAttachmentFields,
  fieldMaxima,
  fieldPatterns,
  type Attachment,
  type FieldKind,
  type Protocol,
} from './attachment.ts';
import { features } from './features.ts';
import { name, segmentsSchema, sizeBytes, stringMap, topologyRequirementSchema } from './fields.ts';
import { isProblemCode } from './problem.ts';

/** How a volume may be used: by how many nodes, and for what (CSI spec, "VolumeCapability.AccessMode"). */
export const accessModes = [
  'SINGLE_NODE_WRITER',
  'SINGLE_NODE_READER_ONLY',
  'MULTI_NODE_READER_ONLY',
  'MULTI_NODE_SINGLE_WRITER',
  'MULTI_NODE_MULTI_WRITER',
  'SINGLE_NODE_SINGLE_WRITER',
  'SINGLE_NODE_MULTI_WRITER',
] as const;

/** One of `accessModes`. */
export type AccessMode = (typeof accessModes)[number];

/** Whether a volume is used as a raw block device or through a filesystem. */
export const accessTypes = ['mount', 'block'] as const;

/** One of `accessTypes`. */
export type AccessType = (typeof accessTypes)[number];

/** One way to use a volume. */
export const capabilitySchema = z.strictObject({
  accessType: z.enum(accessTypes),
  accessMode: z.enum(accessModes),
  fsType: z.string().max(128).optional(),
  mountFlags: z.array(z.string().max(4096)).max(64).optional(),
});

/** What a new volume is filled from. */
export const volumeSourceSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('snapshot'), snapshotId: z.string().min(1) }),
  z.strictObject({ kind: z.literal('volume'), volumeId: z.string().min(1) }),
]);

/** What is asked of a new volume: the body of PUT /v1/volumes/{id}. */
export const volumeSpecSchema = z.strictObject({
  name: name.describe('The name that the caller gave it; the id is made from it.'),
  requiredBytes: sizeBytes.optional().describe('Least size in bytes; absent or 0 leaves it to the backend.'),
  limitBytes: sizeBytes.optional().describe('Most size in bytes; absent or 0 means no limit.'),
  capabilities: z.array(capabilitySchema).min(1).max(64),
  parameters: stringMap.optional(),
  source: volumeSourceSchema.optional().describe('Absent: the volume starts empty.'),
  mutableParameters: stringMap.optional().describe('What can be changed later, as it is to be at first.'),
  topology: topologyRequirementSchema.optional().describe('Absent: the storage chooses its place.'),
});

/** The size that a volume is to have at least and at most: the body of PUT /v1/volumes/{id}/size. */
export const sizeSpecSchema = z.strictObject({
  requiredBytes: sizeBytes.optional(),
  limitBytes: sizeBytes.optional(),
});

/** What is to be changed, others staying as they are: the body of PUT /v1/volumes/{id}/parameters. */
export const parametersSpecSchema = z.strictObject({ mutableParameters: stringMap });

const attachmentState = z.enum(['attaching', 'attached', 'detaching']);
const nodeId = z.string().min(1).max(256);

/** A volume as the API shows it. `state` tells what runs on it. */
export const volumeSchema = z.object({
  id: z.string(),
  name,
  state: z.enum(['creating', 'ready', 'deleting']),
  sizeBytes: sizeBytes.describe('What was allocated; 0 while creating.'),
  parameters: stringMap,
  context: stringMap.describe(
    'What nodes are told at every mount (CSI volume_context): immutable and not secret.',
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
});

/** One page of volumes, ordered by id. No `nextPageToken` means that it is the last. */
export const volumePageSchema = z.object({
  volumes: z.array(volumeSchema),
  nextPageToken: z.string().optional(),
});

/** What is asked of an attachment: the body of PUT /v1/volumes/{id}/attachments/{nodeId}. */
export const attachmentSpecSchema = z.strictObject({ capability: capabilitySchema, readonly: z.boolean() });

/** How a node reaches a volume; agrees with the table in attachment.ts by construction. */
export const attachmentSchema = z.union(
  (Object.keys(attachmentFields) as Protocol[]).map(protocol =>
    z.strictObject({
      protocol: z.literal(protocol),
      ...fieldSchemas(commonAttachmentFields),
      ...fieldSchemas(attachmentFields[protocol]),
    }),
  ),
) as unknown as z.ZodType<Attachment>;

/** An attachment as the API shows it; `attachment` is there once the state is attached. */
export const attachmentResourceSchema = z.object({
  volumeId: z.string(),
  nodeId,
  state: attachmentState,
  readonly: z.boolean(),
  attachment: attachmentSchema.optional(),
});

/** What a cluster says of one of its nodes: the body of PUT /v1/nodes/{id}. */
export const nodeSpecSchema = z.strictObject({
  maxVolumes: z
    .int()
    .positive()
    .optional()
    .describe('Most volumes attached at a time; absent means no limit is known.'),
  topology: segmentsSchema.optional().describe('Where it is; empty values say nothing.'),
});

/** A node as the API shows it. */
export const nodeSchema = nodeSpecSchema.extend({ id: nodeId }).loose();

/** What the storage behind the API can do; a controller advertises from it. */
export const capabilitiesSchema = z.object({
  backend: z.string(),
  version: z.string(),
  accessModes: z.array(z.enum(accessModes)),
  accessTypes: z.array(z.enum(accessTypes)),
  features: z
    .array(z.string())
    .describe(`Of ${features.join(', ')}; other words are of a newer version and mean nothing.`),
});

/** A question that changes nothing: can these capabilities and parameters be had? */
export const validationSpecSchema = z.strictObject({
  capabilities: z.array(capabilitySchema).min(1).max(64),
  parameters: stringMap.optional(),
  context: stringMap.optional(),
  mutableParameters: stringMap.optional(),
});

/** The answer to a validation: confirmed, or the reason why not. */
export const validationSchema = z.object({ confirmed: z.boolean(), message: z.string().optional() });

/** A question for the space left for new volumes of a kind. */
export const capacitySpecSchema = z.strictObject({
  capabilities: z.array(capabilitySchema).max(64).optional(),
  parameters: stringMap.optional(),
  topology: segmentsSchema.optional().describe('Where the volumes are to be reached from.'),
});

/** The space left, in bytes, and the bounds of one volume's size where they are known. */
export const capacitySchema = z.object({
  availableBytes: sizeBytes,
  maximumVolumeBytes: sizeBytes.optional(),
  minimumVolumeBytes: sizeBytes.optional(),
});

/** What is wrong with a volume; no entries: nothing that is known. */
export const healthSchema = z.object({
  volumeId: z.string(),
  entries: z.array(
    z.object({
      status: z.enum(['DEGRADED', 'INACCESSIBLE', 'DATA_LOSS']),
      reason: z.string(),
      message: z.string(),
    }),
  ),
});

/** One page of the volumes with which something is wrong; it may have few, or none, and yet a next page. */
export const healthPageSchema = z.object({
  volumes: z.array(healthSchema),
  nextPageToken: z.string().optional(),
});

/** An RFC 9457 problem document. */
export const problemSchema = z.object({
  code: z.custom(isProblemCode),
  detail: z.string(),
  requestId: z.string().optional(),
});

export type Capability = z.infer<typeof capabilitySchema>;
export type VolumeSource = z.infer<typeof volumeSourceSchema>;
export type SizeSpec = z.infer<typeof sizeSpecSchema>;
export type Health = z.infer<typeof healthSchema>;
export type HealthPage = z.infer<typeof healthPageSchema>;
export type VolumeSpec = z.infer<typeof volumeSpecSchema>;
export type Volume = z.infer<typeof volumeSchema>;
export type VolumePage = z.infer<typeof volumePageSchema>;
export type AttachmentSpec = z.infer<typeof attachmentSpecSchema>;
export type AttachmentResource = z.infer<typeof attachmentResourceSchema>;
export type NodeSpec = z.infer<typeof nodeSpecSchema>;
export type Node = z.infer<typeof nodeSchema>;
export type Capabilities = z.infer<typeof capabilitiesSchema>;
export type ValidationSpec = z.infer<typeof validationSpecSchema>;
export type Validation = z.infer<typeof validationSchema>;
export type CapacitySpec = z.infer<typeof capacitySpecSchema>;
export type Capacity = z.infer<typeof capacitySchema>;

function fieldSchemas(fields: Readonly<Record<string, FieldKind>>): Record<string, z.ZodType> {
  const { path, host, address } = fieldPatterns;
  const schemas: Readonly<Record<FieldKind, z.ZodType>> = {
    text: z.string().min(1),
    'text?': z.string().min(1).optional(),
    path: z.string().regex(path),
    host: z.string().regex(host),
    port: z.int().min(1).max(fieldMaxima.port),
    lun: z.int().min(0).max(fieldMaxima.lun),
    addresses: z
      .array(z.string().regex(address))
      .min(1)
      .max(fieldMaxima.addresses)
      .refine(areAddresses, 'has a port that is none, or an address twice'),
    bytes: sizeBytes,
    flag: z.boolean(),
  };
  return Object.fromEntries(Object.entries(fields).map(([key, kind]) => [key, schemas[kind]]));
}
