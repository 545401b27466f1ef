import * as z from 'zod';
import {
  areAddresses,
  attachmentFields,
  commonAttachmentFields,
  fieldKinds,
  type Attachment,
  type FieldKind,
  type Protocol,
  type UnsealedSecrets,
} from './attachment.ts';
import { byteLength, nodeIdPattern } from './ids.ts';
import { limits } from './limits.ts';
import { capabilitySchema, pageSchemaOf, segmentsSchema, text, volumeId } from './storage.ts';

const maxNodeIdBytes = limits.nodeIdBytes.max;

/** The id of a node: opaque text. */
export const nodeId = z
  .string()
  .max(maxNodeIdBytes)
  .regex(nodeIdPattern)
  .refine(id => byteLength(id) <= maxNodeIdBytes)
  .meta({ examples: ['node-1'] });

/** A cluster's report about one of its nodes. */
export const nodeSpecSchema = z
  .strictObject({
    maxVolumes: z
      .int()
      .positive()
      .optional()
      .describe('Maximum volumes attached at a time; absent: no limit is known.'),
    topology: segmentsSchema.optional().describe('The location; empty values are ignored.'),
    name: text('worker-1').optional().describe('The name in its cluster; for pools with `node-details`.'),
    providerId: text('aws:///eu-west-1a/i-0abc')
      .optional()
      .describe("The cloud's id of its machine; for pools with `node-details`."),
    addresses: z
      .array(z.union([z.ipv4(), z.ipv6()]).meta({ examples: ['192.0.2.7'] }))
      .max(8)
      .optional()
      .describe('The addresses from which it connects to storages; for pools with `node-details`.'),
  })
  .meta({ id: 'NodeSpec', description: "A cluster's report about one of its nodes." });

/** A node as the API shows it. */
export const nodeSchema = nodeSpecSchema
  .extend({
    id: nodeId,
    isMissing: z
      .literal(true)
      .optional()
      .describe(
        'True: the cluster has deleted the node while volumes were attached. A new report ends this.',
      ),
    isDead: z
      .literal(true)
      .optional()
      .describe(
        'True: the cluster has detached all volumes from the node, because it is dead. No volume is attached to it until a new report ends this.',
      ),
  })
  .loose()
  .meta({ id: 'Node', description: 'A node of a cluster.' });

/** One page of nodes, by id. The last page has no `nextPageToken`. */
export const nodePageSchema = pageSchemaOf('nodes', nodeSchema, {
  id: 'NodePage',
  description: 'One page of nodes, by id. The last page has no `nextPageToken`.',
});

export const attachmentState = z.enum(['attaching', 'attached', 'detaching']);

/** A node's use of a volume. */
export const attachmentSpecSchema = z
  .strictObject({ capability: capabilitySchema, readonly: z.boolean() })
  .meta({ id: 'AttachmentSpec', description: "A node's use of a volume." });

const secrets = z
  .record(z.string(), z.string())
  .optional()
  .describe(
    'Secrets for the node, which a storage system gives to its gateway. A gateway passes them on sealed.',
  );

/**
 * A node's access to a volume. Its type is stated, because zod cannot infer one from a schema that the tables in
 * attachment.ts make.
 */
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
    description: "A node's access to a volume. The node formats the volume only if `mayFormat` is true.",
  }) as unknown as z.ZodType<Attachment & UnsealedSecrets>;

/** An attachment as the API shows it; `attachment` is present once the state is `attached`. */
export const attachmentResourceSchema = z
  .object({
    volumeId,
    nodeId,
    state: attachmentState,
    readonly: z.boolean().describe('True if requested, and for access modes of readers only.'),
    attachment: attachmentSchema.optional(),
  })
  .meta({
    id: 'AttachmentResource',
    description: 'A volume on a node; `attachment` is present once the volume is attached.',
  });

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
  if (kind === 'flag?') return z.boolean().optional();
  const rule = fieldKinds[kind];
  if (!('pattern' in rule)) {
    const number = z.int().min(rule.min).max(rule.max);
    return kind.endsWith('?') ? number.optional() : number;
  }
  const ofPattern = z.string().regex(rule.pattern);
  if (kind === 'path') return ofPattern.meta({ examples: ['/srv/fast/east.pvc-1.img'] });
  if (kind === 'encryption?') return ofPattern.optional().meta({ examples: ['luks'] });
  if (!('max' in rule)) return kind.endsWith('?') ? ofPattern.optional() : ofPattern;
  const addresses = z.array(ofPattern).min(1).max(rule.max);
  return addresses
    .refine(areAddresses, 'has an invalid port or an address twice')
    .meta({ uniqueItems: true });
}
