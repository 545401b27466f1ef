import { z } from 'zod';
import { byteLength, mapByteLength, maxIdBytes, maxMapBytes, namePattern, textPattern } from './ids.ts';
import { hasDistinctKeys, segmentKeyPattern, segmentValuePattern } from './topology.ts';

/** A number of a query, read from its decimal digits: no text, `1e3` and `0x10` are none. */
export function fromQuery(number: z.ZodType<number>): z.ZodType<number, number> {
  // What callers give to the client is a number.
  return z.preprocess(readDigits, number) as unknown as z.ZodType<number, number>;
}

function readDigits(given: unknown): unknown {
  return typeof given === 'string' && /^-?\d+$/.test(given) ? Number(given) : given;
}

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

const featureMeanings = {
  capacity: 'it reports its capacity',
  expand: 'volumes grow',
  modify: 'volumes have parameters that can be changed',
  snapshots: 'volumes have snapshots',
  restore: 'volumes can be created from snapshots',
  clone: 'volumes can be created from volumes',
  groups: 'several volumes can be snapshotted at one point in time',
  changes: 'it lists the allocated and the changed blocks of snapshots',
  health: 'it reports what is wrong with a volume',
  topology: 'volumes and snapshots have a topology, and are not reached from everywhere',
  nodes: 'a node must be reported to it before a volume is attached to that node',
} as const;

/** One of `features`. */
export type Feature = keyof typeof featureMeanings;

/** What a storage may do beyond creating, deleting, attaching and detaching volumes; absent means UNIMPLEMENTED. */
export const features = Object.keys(featureMeanings) as readonly Feature[];

/** Most terms of a requirement: a cluster may name each of its nodes. */
export const maxTerms = 8_192;
const tooManyBytes = `must have at most ${maxMapBytes} bytes`;

const plain = z.string().regex(textPattern, 'has a NUL');
const nonEmpty = plain.min(1);

/** A text of a query; an empty one is none. */
export const queryText = (description: string, example: string) =>
  plain
    .optional()
    .transform(given => given || undefined)
    .meta({ description, examples: [example] });

/** Text that is not empty. */
export const text = (example: string) => nonEmpty.meta({ examples: [example] });

/** The name that a caller chose for something. */
export const nameOf = (example: string) =>
  z
    .string()
    .min(1)
    .regex(namePattern, 'has control characters')
    .meta({ examples: [example], maxLength: maxIdBytes })
    .refine(value => byteLength(value) <= maxIdBytes, `must have at most ${maxIdBytes} bytes`);

/** The id of a volume. */
export const volumeId = text('east.pvc-1');

/** The name of a pool. */
export const poolName = text('fast');

/** A number of bytes. */
export const sizeBytes = z
  .int()
  .min(0)
  .meta({ examples: [10_737_418_240] });

/** A point in time, as ISO 8601 writes it. */
export const time = text('2026-01-31T12:00:00.000Z');

/** Text by key, of at most 4096 bytes. */
export const stringMap = z
  .record(plain, plain)
  .refine(isSmallEnough, tooManyBytes)
  .meta({ examples: [{ tier: 'fast' }] });

/** Where something is, or where it is reached from. */
export const segmentsSchema = z
  .record(z.string().regex(segmentKeyPattern), z.string().regex(segmentValuePattern))
  .refine(isSmallEnough, tooManyBytes)
  .refine(hasDistinctKeys, 'has keys that differ in case alone')
  .meta({
    id: 'Segments',
    description: 'Where something is, or where it is reached from: all segments hold at once.',
    examples: [{ 'csi.fairlead.dev/zone': 'a' }],
  });

/** Where something is reached from: where one of these holds. */
export const topologies = z.array(segmentsSchema).max(maxTerms).optional();

/** Where something new must be reached from. */
export const topologyRequirementSchema = z
  .strictObject({
    requisite: topologies.describe('It must be reached from at least one of these.'),
    preferred: topologies.describe('Tried first, in this order; where `requisite` is given, of its terms.'),
  })
  .meta({
    id: 'TopologyRequirement',
    description: 'Where it must be reached from; empty values say nothing.',
  });

/** One way to use a volume. */
export const capabilitySchema = z
  .strictObject({
    accessType: z.enum(accessTypes),
    accessMode: z.enum(accessModes),
    fsType: plain.max(128).optional(),
    mountFlags: z.array(plain.max(4096)).max(64).optional(),
  })
  .meta({
    id: 'Capability',
    description: 'One way to use a volume.',
    examples: [{ accessType: 'mount', accessMode: accessModes[0], fsType: 'ext4', mountFlags: ['noatime'] }],
  });

/** The ways in which a volume is to be used, all of them at once. */
export const capabilityList = z.array(capabilitySchema).min(1).max(64);

const meanings = Object.entries(featureMeanings).map(([feature, meaning]) => `\`${feature}\`: ${meaning}`);

/** A JSON Schema, as a document that is passed on. */
const jsonSchema = z.record(z.string(), z.unknown()).meta({ examples: [{ type: 'object' }] });

const limits = z
  .object({
    minimumVolumeBytes: sizeBytes.optional(),
    maximumVolumeBytes: sizeBytes.optional(),
    stepBytes: z.int().positive().optional().describe('Sizes are multiples of it; absent: 1.'),
  })
  .describe('The sizes that volumes can have; absent: the storage alone knows.');

const parameters = z
  .object({
    volume: jsonSchema.optional(),
    snapshot: jsonSchema.optional(),
    mutable: jsonSchema.optional(),
  })
  .describe(
    'JSON Schemas of parameters; where one is absent, any are passed on and the storage judges them.',
  );

const offers = {
  accessModes: z.array(z.enum(accessModes)),
  accessTypes: z.array(z.enum(accessTypes)),
  features: z
    .array(text('expand'))
    .describe(`${meanings.join('; ')}; other words are of a newer version and mean nothing.`),
  protocols: z
    .array(text('nvme-tcp'))
    .optional()
    .describe('The attach protocols that attachments have; absent: not said.'),
  topologies,
  areShares: z
    .boolean()
    .optional()
    .describe('Volumes are directories with a filesystem of their own, which nodes do not make.'),
  zeroed: z
    .boolean()
    .optional()
    .describe('A new volume reads as zeros. Without it nodes never make a filesystem on one.'),
  limits: limits.optional(),
  parameters: parameters.optional(),
};

/** What the storage behind the API can do; a controller advertises from it. */
export const capabilitiesSchema = z
  .object({
    version: text('0.1.0'),
    ...offers,
    topologies: topologies.describe('Where volumes can be, the best first; absent: reached from everywhere.'),
    pools: z
      .array(z.object({ name: poolName, backend: text('image'), ...offers }))
      .default([])
      .describe('Those that the caller may use; none where there is nothing to choose from.'),
  })
  .meta({
    id: 'Capabilities',
    description: 'What any of the pools can do, and each alone; `version` is that of the server.',
  });

/** A question for the capacity that new volumes of a kind have. */
export const capacitySpecSchema = z
  .strictObject({
    capabilities: z.array(capabilitySchema).max(64).optional(),
    parameters: stringMap.optional(),
    topology: segmentsSchema.optional().describe('Where the volumes are to be reached from.'),
  })
  .meta({ id: 'CapacitySpec', description: 'A kind of volume.' });

/** The bytes available for new volumes, and the bounds of one volume's size where they are known. */
export const capacitySchema = z
  .object({
    availableBytes: sizeBytes,
    maximumVolumeBytes: sizeBytes.optional(),
    minimumVolumeBytes: sizeBytes.optional(),
  })
  .meta({ id: 'Capacity', description: 'The bytes available, and the bounds of one volume where known.' });

export type TopologyRequirement = z.infer<typeof topologyRequirementSchema>;
export type Capability = z.infer<typeof capabilitySchema>;
export type Capabilities = z.infer<typeof capabilitiesSchema>;
export type CapacitySpec = z.infer<typeof capacitySpecSchema>;
export type Capacity = z.infer<typeof capacitySchema>;

/** True when the storage has the feature. */
export function hasFeature(capabilities: Pick<Capabilities, 'features'>, feature: Feature): boolean {
  return capabilities.features.includes(feature);
}

function isSmallEnough(map: Readonly<Record<string, string>>): boolean {
  return mapByteLength(map) <= maxMapBytes;
}
