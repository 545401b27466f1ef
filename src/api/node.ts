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
import { capabilitySchema, segmentsSchema, sizeBytes } from './storage.ts';

/** The id of a node: opaque text. */
export const nodeId = z.string().min(1).max(256);

const nodeExample = { maxVolumes: 64, topology: { 'csi.fairlead.dev/zone': 'a' } };

/** What a cluster says of one of its nodes. */
export const nodeSpecSchema = z
  .strictObject({
    maxVolumes: z
      .int()
      .positive()
      .optional()
      .describe('Most volumes attached at a time; absent means no limit is known.'),
    topology: segmentsSchema.optional().describe('Where it is; empty values say nothing.'),
  })
  .meta({
    id: 'NodeSpec',
    description: 'What a cluster says of one of its nodes.',
    examples: [nodeExample],
  });

/** A node as the API shows it. */
export const nodeSchema = nodeSpecSchema
  .extend({ id: nodeId })
  .loose()
  .meta({ id: 'Node', description: 'A node of a cluster.', examples: [{ id: 'node-1', ...nodeExample }] });

/** What runs on an attachment. */
export const attachmentState = z.enum(['attaching', 'attached', 'detaching']);

/** How a node is to use a volume. */
export const attachmentSpecSchema = z
  .strictObject({ capability: capabilitySchema, readonly: z.boolean() })
  .meta({
    id: 'AttachmentSpec',
    description: 'How a node is to use a volume.',
    examples: [{ capability: { accessType: 'mount', accessMode: 'SINGLE_NODE_WRITER' }, readonly: false }],
  });

const attachmentExample = {
  protocol: 'loop',
  attachmentId: 'c0ffee00-0000-4000-8000-000000000000',
  sizeBytes: 10_737_418_240,
  readonly: false,
  mayFormat: true,
  path: '/var/lib/fairlead/images/east.pvc-1.img',
};

/** How a node reaches a volume; agrees with the table in attachment.ts by construction. */
export const attachmentSchema = z
  .union(
    (Object.keys(attachmentFields) as Protocol[]).map(protocol =>
      z.strictObject({
        protocol: z.literal(protocol),
        ...toSchemas(commonAttachmentFields),
        ...toSchemas(attachmentFields[protocol]),
      }),
    ),
  )
  .meta({
    id: 'Attachment',
    description:
      'How a node reaches a volume, by protocol. Not secret. A node formats only what `mayFormat`.',
    examples: [attachmentExample],
  }) as unknown as z.ZodType<Attachment>;

/** An attachment as the API shows it; `attachment` is there once the state is attached. */
export const attachmentResourceSchema = z
  .object({
    volumeId: z.string(),
    nodeId,
    state: attachmentState,
    readonly: z.boolean(),
    attachment: attachmentSchema.optional(),
  })
  .meta({
    id: 'AttachmentResource',
    description: 'A volume on a node; `attachment` is there once `attached`.',
    examples: [
      {
        volumeId: 'east.pvc-1',
        nodeId: 'node-1',
        state: 'attached',
        readonly: false,
        attachment: attachmentExample,
      },
    ],
  });

export type NodeSpec = z.infer<typeof nodeSpecSchema>;
export type Node = z.infer<typeof nodeSchema>;
export type AttachmentSpec = z.infer<typeof attachmentSpecSchema>;
export type AttachmentResource = z.infer<typeof attachmentResourceSchema>;

function toSchemas(fields: Readonly<Record<string, FieldKind>>): Record<string, z.ZodType> {
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
