import * as z from 'zod';
import { byteLength, mapByteLength, maxIdBytes, namePattern, textPattern } from './ids.ts';
import { limitDetail, limits } from './limits.ts';
import { hasDistinctKeys, segmentKeyPattern, segmentValuePattern } from './topology.ts';

/** Reads a number in a query from decimal digits only; text such as `1e3` or `0x10` is refused. */
export function fromQuery(number: z.ZodType<number>): z.ZodType<number, number> {
  // Callers of the client give a number, so the input type is a number too.
  return z.preprocess(readDigits, number) as unknown as z.ZodType<number, number>;
}

function readDigits(given: unknown): unknown {
  return typeof given === 'string' && /^-?\d+$/.test(given) ? Number(given) : given;
}

/** Makes the schema of a page of entries. The last page has no `nextPageToken`. */
export function pageSchemaOf<Name extends string, Entry extends z.ZodType>(
  name: Name,
  entry: Entry,
  meta: { readonly id: string; readonly description: string },
) {
  const shape = { [name]: z.array(entry) } as { readonly [N in Name]: z.ZodArray<Entry> };
  return z.object({ ...shape, nextPageToken: z.string().optional() }).meta(meta);
}

/** The access modes: the number of nodes, and whether they write (CSI spec, "VolumeCapability.AccessMode"). */
export const accessModes = [
  'SINGLE_NODE_WRITER',
  'SINGLE_NODE_READER_ONLY',
  'MULTI_NODE_READER_ONLY',
  'MULTI_NODE_SINGLE_WRITER',
  'MULTI_NODE_MULTI_WRITER',
  'SINGLE_NODE_SINGLE_WRITER',
  'SINGLE_NODE_MULTI_WRITER',
] as const;

export type AccessMode = (typeof accessModes)[number];

/** The access types: through a filesystem or as a raw block device. */
export const accessTypes = ['mount', 'block'] as const;

export type AccessType = (typeof accessTypes)[number];

const featureMeanings = {
  capacity: 'it reports its capacity',
  expand: 'volumes grow',
  modify: 'volumes have parameters that can be changed',
  snapshots: 'volumes have snapshots',
  restore: 'volumes can be created from snapshots',
  clone: 'volumes can be created from volumes',
  groups: 'several volumes can be snapshotted at one point in time',
  changes: 'it lists the allocated and the changed blocks of snapshots',
  health: 'it reports the faults of a volume',
  topology: 'volumes and snapshots have a topology and are not reachable from everywhere',
  nodes: 'a node must be reported to it before a volume is attached to that node',
  'node-details':
    "it needs a node's addresses, its name or its cloud's id, so a node's report must give them",
  import: 'it takes over volumes that a CSI driver made before (`existing`)',
} as const;

export type Feature = keyof typeof featureMeanings;

/** The optional features of a storage, beyond creating, deleting, attaching and detaching volumes. Absent: UNIMPLEMENTED. */
export const features = Object.keys(featureMeanings) as readonly Feature[];

const tooManyBytes = ({ input }: { readonly input?: unknown }): string =>
  limitDetail('mapBytes', mapByteLength(input as Readonly<Record<string, string>>));

const plain = z.string().regex(textPattern, 'has a NUL');
const nonEmpty = plain.min(1);

/** A text in a query; an empty text counts as absent. */
export const queryText = (description: string, example: string) =>
  plain
    .optional()
    .transform(given => given || undefined)
    .meta({ description, examples: [example] });

/** Non-empty text. */
export const text = (example: string) => nonEmpty.meta({ examples: [example] });

/** The name that a caller chose for something. */
export const nameOf = (example: string) =>
  z
    .string()
    .min(1)
    .regex(namePattern, 'has control characters')
    .meta({ examples: [example], maxLength: maxIdBytes })
    .refine(value => byteLength(value) <= maxIdBytes, `must have at most ${maxIdBytes} bytes`);

export const volumeId = text('east.pvc-1');

export const poolName = text('fast');

export const sizeBytes = z
  .int()
  .min(0)
  .meta({ examples: [10_737_418_240] });

/** A point in time in ISO 8601. */
export const time = text('2026-01-31T12:00:00.000Z');

/** Text by key, of at most 4096 bytes. */
export const stringMap = z
  .record(plain, plain)
  .refine(isSmallEnough, { error: tooManyBytes })
  .meta({ examples: [{ tier: 'fast' }] });

/** A location of an object, or of its users. */
export const segmentsSchema = z
  .record(z.string().regex(segmentKeyPattern), z.string().regex(segmentValuePattern))
  .refine(isSmallEnough, { error: tooManyBytes })
  .refine(hasDistinctKeys, 'has keys that differ only in case')
  .meta({
    id: 'Segments',
    description: 'A topology of a node or an object: all segments hold at once.',
    examples: [{ 'csi.fairlead.dev/zone': 'a' }],
  });

/** The topologies that reach an object; one of them suffices. */
export const topologies = z.array(segmentsSchema).max(limits.topologyTerms.max).optional();

/** The topologies that must reach a new object. */
export const topologyRequirementSchema = z
  .strictObject({
    requisite: topologies.describe('The object must be reachable from at least one of these.'),
    preferred: topologies.describe(
      'Topologies to try first, in this order; a subset of `requisite` if that is given.',
    ),
  })
  .meta({
    id: 'TopologyRequirement',
    description: 'The topologies that must reach a new object; empty values are ignored.',
  });

/** One way to use a volume. */
export const capabilitySchema = z
  .strictObject({
    accessType: z.enum(accessTypes),
    accessMode: z.enum(accessModes),
    fsType: plain.max(128).optional(),
    mountFlags: z
      .array(plain.max(limits.mountFlagBytes.max))
      .max(limits.mountFlags.max)
      .refine(flags => sumOfBytes(flags) <= limits.mountFlagBytes.max, {
        error: ({ input }) => limitDetail('mountFlagBytes', sumOfBytes(input as readonly string[])),
      })
      .optional(),
  })
  .meta({
    id: 'Capability',
    description: 'One way to use a volume.',
    examples: [{ accessType: 'mount', accessMode: accessModes[0], fsType: 'ext4', mountFlags: ['noatime'] }],
  });

/** The ways to use a volume; it must support all of them at once. */
export const capabilityList = z.array(capabilitySchema).min(1).max(limits.capabilities.max);

const meanings = Object.entries(featureMeanings).map(([feature, meaning]) => `\`${feature}\`: ${meaning}`);

/** A JSON Schema, passed on as a document. */
const jsonSchema = z.record(z.string(), z.unknown()).meta({ examples: [{ type: 'object' }] });

const sizeLimits = z
  .object({
    minimumVolumeBytes: sizeBytes.optional(),
    maximumVolumeBytes: sizeBytes.optional(),
    stepBytes: z.int().positive().optional().describe('Sizes are multiples of this; absent: 1.'),
  })
  .describe('The possible sizes of volumes; absent: only the storage knows.');

const parameters = z
  .object({
    volume: jsonSchema.optional(),
    snapshot: jsonSchema.optional(),
    mutable: jsonSchema.optional(),
  })
  .describe(
    'JSON Schemas of parameters; without a schema, all parameters are passed on and the storage checks them.',
  );

const offers = {
  accessModes: z.array(z.enum(accessModes)),
  accessTypes: z.array(z.enum(accessTypes)),
  features: z
    .array(text('expand'))
    .describe(`${meanings.join('; ')}; ignore other words, which are of a newer version.`),
  protocols: z
    .array(text('nvme-tcp'))
    .optional()
    .describe('The attach protocols of attachments; absent: unknown.'),
  topologies,
  areShares: z
    .boolean()
    .optional()
    .describe('True: volumes are directories with their own filesystem, which nodes do not make.'),
  cannotCutOff: z
    .boolean()
    .optional()
    .describe(
      'True: a detach does not stop a node that still uses the volume, so operators are warned. Only a gateway answers this, for such a pool of its own.',
    ),
  zeroed: z
    .boolean()
    .optional()
    .describe('True: a new volume reads as zeros. Otherwise nodes never make a filesystem on it.'),
  limits: sizeLimits.optional(),
  parameters: parameters.optional(),
};

/** The capabilities of the storage behind the API, which a controller advertises. */
export const capabilitiesSchema = z
  .object({
    version: text('1.0.0'),
    ...offers,
    topologies: topologies.describe(
      'The possible locations of volumes, best first; absent: reachable from everywhere.',
    ),
    pools: z
      .array(z.object({ name: poolName, backend: text('image'), ...offers }))
      .default([])
      .describe('The pools that the caller may use; empty if the storage has no pools to choose from.'),
    deadNodes: z
      .object({ afterMs: z.int().positive() })
      .optional()
      .describe(
        'The cluster may detach all volumes from a node that has been silent for this time; absent: it may not. Only a gateway answers this.',
      ),
  })
  .meta({
    id: 'Capabilities',
    description:
      'The capabilities of all pools together and of each pool; `version` is the version of the server.',
  });

/** A kind of new volumes whose capacity is asked for. */
export const capacitySpecSchema = z
  .strictObject({
    capabilities: z.array(capabilitySchema).max(limits.capabilities.max).optional(),
    parameters: stringMap.optional(),
    topology: segmentsSchema.optional().describe('Nodes in this topology must reach the volumes.'),
  })
  .meta({ id: 'CapacitySpec', description: 'A kind of volume.' });

/** The bytes available for new volumes, and the bounds of a volume's size if known. */
export const capacitySchema = z
  .object({
    availableBytes: sizeBytes,
    maximumVolumeBytes: sizeBytes.optional(),
    minimumVolumeBytes: sizeBytes.optional(),
  })
  .meta({
    id: 'Capacity',
    description: "The bytes available for new volumes, and the bounds of a volume's size if known.",
  });

export type TopologyRequirement = z.infer<typeof topologyRequirementSchema>;
export type Capability = z.infer<typeof capabilitySchema>;
export type Capabilities = z.infer<typeof capabilitiesSchema>;
export type CapacitySpec = z.infer<typeof capacitySpecSchema>;
export type Capacity = z.infer<typeof capacitySchema>;

/** Returns true for a mode that never writes. */
export function isForReaders({ accessMode }: Pick<Capability, 'accessMode'>): boolean {
  return accessMode.endsWith('_READER_ONLY');
}

export function hasFeature(capabilities: Pick<Capabilities, 'features'>, feature: Feature): boolean {
  return capabilities.features.includes(feature);
}

function isSmallEnough(map: Readonly<Record<string, string>>): boolean {
  return mapByteLength(map) <= limits.mapBytes.max;
}

function sumOfBytes(texts: readonly string[]): number {
  return texts.reduce((sum, one) => sum + byteLength(one), 0);
}
