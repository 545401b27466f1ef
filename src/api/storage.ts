import { z } from 'zod';
import { maxIdBytes } from './ids.ts';
import { hasDistinctKeys, segmentKeyPattern, segmentValuePattern } from './topology.ts';

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

/** What a storage may do beyond creating, deleting, attaching and detaching volumes; absent means UNIMPLEMENTED. */
export const features = [
  /** It reports its capacity. */
  'capacity',
  /** Volumes grow. */
  'expand',
  /** Volumes have parameters that can be changed. */
  'modify',
  /** Volumes have snapshots. */
  'snapshots',
  /** Volumes can be made from snapshots. */
  'restore',
  /** Volumes can be made from volumes. */
  'clone',
  /** Several volumes can be snapshotted at one point in time. */
  'groups',
  /** It lists the allocated and the changed blocks of snapshots. */
  'changes',
  /** It reports what is wrong with a volume. */
  'health',
  /** Volumes and snapshots have a topology, and are not reached from everywhere. */
  'topology',
] as const;

/** One of `features`. */
export type Feature = (typeof features)[number];

const encoder = new TextEncoder();
/** Most bytes of a map's keys and values together (CSI spec, "Size Limits"). */
const maxMapBytes = 4_096;
/** Most terms of a requirement: a cluster may name each of its nodes. */
const maxTerms = 8_192;
const segmentsExample = { 'csi.fairlead.dev/zone': 'a' };

/** The name that a caller chose for something. */
export const name = z
  .string()
  .min(1)
  .refine(value => byteLength(value) <= maxIdBytes, `must have at most ${maxIdBytes} bytes`);

/** A number of bytes. */
export const sizeBytes = z.int().nonnegative();

/** Text by key, of at most 4096 bytes. */
export const stringMap = z
  .record(z.string(), z.string())
  .refine(isSmallEnough, `must have at most ${maxMapBytes} bytes`);

/** Where something is, or where it is reached from. */
export const segmentsSchema = z
  .record(z.string().regex(segmentKeyPattern), z.string().regex(segmentValuePattern))
  .refine(isSmallEnough, `must have at most ${maxMapBytes} bytes`)
  .refine(hasDistinctKeys, 'has keys that differ in case alone')
  .meta({
    id: 'Segments',
    description:
      'Where something is, or where it is reached from: all segments hold at once. Keys do not differ in case alone.',
    examples: [segmentsExample],
  });

/** Where something new must be reached from. */
export const topologyRequirementSchema = z
  .strictObject({
    requisite: z
      .array(segmentsSchema)
      .max(maxTerms)
      .optional()
      .describe('It must be reached from at least one of these.'),
    preferred: z
      .array(segmentsSchema)
      .max(maxTerms)
      .optional()
      .describe('Tried first, in this order; where `requisite` is given, of its terms.'),
  })
  .meta({
    id: 'TopologyRequirement',
    description:
      'Where something new must be reached from. Values that are empty, and terms without any other, say nothing.',
    examples: [{ requisite: [segmentsExample], preferred: [segmentsExample] }],
  });

/** One way to use a volume. */
export const capabilitySchema = z
  .strictObject({
    accessType: z.enum(accessTypes),
    accessMode: z.enum(accessModes),
    fsType: z.string().max(128).optional(),
    mountFlags: z.array(z.string().max(4096)).max(64).optional(),
  })
  .meta({
    id: 'Capability',
    description: 'One way to use a volume.',
    examples: [{ accessType: 'mount', accessMode: 'SINGLE_NODE_WRITER', fsType: 'ext4' }],
  });

const offers = {
  accessModes: z.array(z.enum(accessModes)),
  accessTypes: z.array(z.enum(accessTypes)),
  features: z
    .array(z.string())
    .describe(`Of ${features.join(', ')}; other words are of a newer version and mean nothing.`),
};
const offersExample = {
  accessModes: ['SINGLE_NODE_WRITER'],
  accessTypes: ['mount', 'block'],
  features: ['capacity', 'expand'],
};

/** What the storage behind the API can do; a controller advertises from it. */
export const capabilitiesSchema = z
  .object({
    version: z.string(),
    ...offers,
    pools: z
      .array(z.object({ name: z.string(), backend: z.string(), ...offers }))
      .describe('Those that the cluster may use.'),
  })
  .meta({
    id: 'Capabilities',
    description:
      "What any of the pools can do, and each alone; a feature that a volume's pool lacks answers UNIMPLEMENTED.",
    examples: [
      {
        version: '0.1.0',
        ...offersExample,
        pools: [{ name: 'fast', backend: 'image', ...offersExample }],
      },
    ],
  });

/** A question for the room left for new volumes of a kind. */
export const capacitySpecSchema = z
  .strictObject({
    capabilities: z.array(capabilitySchema).max(64).optional(),
    parameters: stringMap.optional(),
    topology: segmentsSchema.optional().describe('Where the volumes are to be reached from.'),
  })
  .meta({
    id: 'CapacitySpec',
    description: 'A kind of volume.',
    examples: [{ topology: segmentsExample }],
  });

/** The room left, in bytes, and the bounds of one volume's size where they are known. */
export const capacitySchema = z
  .object({
    availableBytes: sizeBytes,
    maximumVolumeBytes: sizeBytes.optional(),
    minimumVolumeBytes: sizeBytes.optional(),
  })
  .meta({
    id: 'Capacity',
    description: "The room left, in bytes, and the bounds of one volume's size where they are known.",
    examples: [{ availableBytes: 1_099_511_627_776, minimumVolumeBytes: 1_048_576 }],
  });

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
  return (
    Object.entries(map).reduce((sum, [key, value]) => sum + byteLength(key) + byteLength(value), 0) <=
    maxMapBytes
  );
}

function byteLength(text: string): number {
  return encoder.encode(text).length;
}
