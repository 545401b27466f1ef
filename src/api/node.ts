import { z } from 'zod';
import {
  areAddresses,
  attachmentFields,
  commonAttachmentFields,
  fieldKinds,
  type Attachment,
  type FieldKind,
  type Protocol,
  type Unsealed,
} from './attachment.ts';
import { byteLength, nodeIdPattern } from './ids.ts';
import { capabilitySchema, segmentsSchema, volumeId } from './storage.ts';

const maxNodeIdBytes = 256;

/** The id of a node: opaque text. */
export const nodeId = z
  .string()
  .max(maxNodeIdBytes)
  .regex(nodeIdPattern)
  .refine(id => byteLength(id) <= maxNodeIdBytes)
  .meta({ examples: ['node-1'] });

/** What a cluster says of one of its nodes. */
export const nodeSpecSchema = z
  .strictObject({
    maxVolumes: z.int().positive().optional().describe('Most attached at a time; absent: no limit is known.'),
    topology: segmentsSchema.optional().describe('Where it is; empty values say nothing.'),
  })
  .meta({ id: 'NodeSpec', description: 'What a cluster says of one of its nodes.' });

/** A node as the API shows it. */
export const nodeSchema = nodeSpecSchema
  .extend({ id: nodeId })
  .loose()
  .meta({ id: 'Node', description: 'A node of a cluster.' });

/** One page of nodes, by id. No `nextPageToken` means that it is the last. */
export const nodePageSchema = z
  .object({ nodes: z.array(nodeSchema), nextPageToken: z.string().optional() })
  .meta({ id: 'NodePage', description: 'One page of nodes, by id; without `nextPageToken` the last.' });

/** What runs on an attachment. */
export const attachmentState = z.enum(['attaching', 'attached', 'detaching']);

/** How a node is to use a volume. */
export const attachmentSpecSchema = z
  .strictObject({ capability: capabilitySchema, readonly: z.boolean() })
  .meta({ id: 'AttachmentSpec', description: 'How a node is to use a volume.' });

const secrets = z
  .record(z.string(), z.string())
  .optional()
  .describe('A storage system gives its gateway what the node alone may learn; a gateway gives it sealed.');

/** How a node reaches a volume; agrees with the table in attachment.ts by construction. */
export const attachmentSchema = z
  .union(
    (Object.keys(attachmentFields) as Protocol[]).map(protocol =>
      z.strictObject({
        protocol: z.literal(protocol),
        ...toSchemas({ ...commonAttachmentFields, ...attachmentFields[protocol] }),
        secrets,
      }),
    ),
  )
  .meta({
    id: 'Attachment',
    description: 'How a node reaches a volume. It formats only what `mayFormat`.',
  }) as unknown as z.ZodType<Attachment & Unsealed>;

/** An attachment as the API shows it; `attachment` is there once the state is attached. */
export const attachmentResourceSchema = z
  .object({
    volumeId,
    nodeId,
    state: attachmentState,
    readonly: z.boolean().describe('As asked; true as well where the access mode is for readers only.'),
    attachment: attachmentSchema.optional(),
  })
  .meta({ id: 'AttachmentResource', description: 'A volume on a node; `attachment` once it is attached.' });

export type NodeSpec = z.infer<typeof nodeSpecSchema>;
export type Node = z.infer<typeof nodeSchema>;
export type NodePage = z.infer<typeof nodePageSchema>;
export type AttachmentSpec = z.infer<typeof attachmentSpecSchema>;
export type AttachmentResource = z.infer<typeof attachmentResourceSchema>;

function toSchemas(fields: Readonly<Record<string, FieldKind>>): Record<string, z.ZodType> {
  return Object.fromEntries(Object.entries(fields).map(([key, kind]) => [key, toSchema(kind)]));
}

function toSchema(kind: FieldKind): z.ZodType {
  if (kind === 'flag') return z.boolean();
  const rule = fieldKinds[kind];
  if (!('pattern' in rule)) return z.int().min(rule.least).max(rule.most);
  const ofPattern = z.string().regex(rule.pattern);
  if (kind === 'path') return ofPattern.meta({ examples: ['/srv/fast/east.pvc-1.img'] });
  if (kind === 'encryption?') return ofPattern.optional().meta({ examples: ['luks'] });
  if (!('most' in rule)) return kind.endsWith('?') ? ofPattern.optional() : ofPattern;
  const addresses = z.array(ofPattern).min(1).max(rule.most);
  return addresses
    .refine(areAddresses, 'has a port that is none, or an address twice')
    .meta({ uniqueItems: true });
}
