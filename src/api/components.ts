import { z } from 'zod';
import { segmentsSchema, topologyRequirementSchema } from './fields.ts';
import * as resources from './resources.ts';
import * as snapshots from './snapshot-resources.ts';

/** What a document of the API tells of a schema beside itself. */
export type Component = {
  readonly id: string;
  readonly description: string;
  readonly examples: readonly unknown[];
};

const capability = { accessType: 'mount', accessMode: 'SINGLE_NODE_WRITER', fsType: 'ext4' };
const createdAt = '2026-01-31T12:00:00.000Z';
const sizeBytes = 10_737_418_240;
const volume = {
  id: 'east.pvc-1',
  name: 'pvc-1',
  state: 'ready',
  sizeBytes,
  parameters: {},
  context: {},
  attachments: [{ nodeId: 'node-1', state: 'attached', readonly: false }],
  createdAt,
};
const snapshot = {
  id: 'east.snap-1',
  name: 'snap-1',
  volumeId: 'east.pvc-1',
  state: 'ready',
  sizeBytes,
  createdAt,
};
const member = { ...snapshot, id: 'east.member-1', groupId: 'east.group-1' };
const attachment = {
  protocol: 'loop',
  attachmentId: 'c0ffee00-0000-4000-8000-000000000000',
  sizeBytes,
  readonly: false,
  mayFormat: true,
  path: '/var/lib/fairlead/images/east.pvc-1.img',
};
const health = {
  volumeId: 'east.pvc-1',
  entries: [{ status: 'DATA_LOSS', reason: 'ImageMissing', message: 'the image is not there' }],
};
const place = { 'csi.fairlead.dev/zone': 'a' };
const node = { maxVolumes: 64, topology: place };

type Row = readonly [schema: z.ZodType, description: string, example: unknown];

const volumeRows: Readonly<Record<string, Row>> = {
  Capability: [resources.capabilitySchema, 'One way to use a volume.', capability],
  VolumeSource: [
    resources.volumeSourceSchema,
    'What a new volume is filled from.',
    { kind: 'snapshot', snapshotId: 'east.snap-1' },
  ],
  VolumeSpec: [
    resources.volumeSpecSchema,
    'What is asked of a new volume. `name` is the one that its id is made from; bounds of 0 are none.',
    { name: 'pvc-1', requiredBytes: sizeBytes, capabilities: [capability] },
  ],
  SizeSpec: [
    resources.sizeSpecSchema,
    'The size that a volume is to have at least and at most; bounds of 0 are none.',
    { requiredBytes: 2 * sizeBytes },
  ],
  ParametersSpec: [
    resources.parametersSpecSchema,
    'The mutable parameters to change.',
    { mutableParameters: { tier: 'fast' } },
  ],
  Volume: [
    resources.volumeSchema,
    'A volume. `sizeBytes` is what was allocated, 0 while `creating`; `pending` is what was begun and is not done.',
    volume,
  ],
  VolumePage: [
    resources.volumePageSchema,
    'One page of volumes, by id; without `nextPageToken` the last.',
    { volumes: [volume] },
  ],
  ValidationSpec: [resources.validationSpecSchema, 'A way to use a volume.', { capabilities: [capability] }],
  Validation: [resources.validationSchema, 'Confirmed, or the reason why not.', { confirmed: true }],
  Health: [resources.healthSchema, 'What is wrong with a volume; no entries: nothing that is known.', health],
  HealthPage: [
    resources.healthPageSchema,
    'One page of the volumes with which something is wrong; it may be empty and not the last.',
    { volumes: [health] },
  ],
  AttachmentSpec: [
    resources.attachmentSpecSchema,
    'How a node is to use a volume.',
    { capability, readonly: false },
  ],
  Attachment: [
    resources.attachmentSchema,
    'How a node reaches a volume, by protocol. Not secret. A node formats only what `mayFormat`.',
    attachment,
  ],
  AttachmentResource: [
    resources.attachmentResourceSchema,
    'A volume on a node; `attachment` is there once `attached`.',
    { volumeId: 'east.pvc-1', nodeId: 'node-1', state: 'attached', readonly: false, attachment },
  ],
};

const snapshotRows: Readonly<Record<string, Row>> = {
  SnapshotSpec: [
    snapshots.snapshotSpecSchema,
    'What is asked of a new snapshot.',
    { name: 'snap-1', volumeId: 'east.pvc-1' },
  ],
  Snapshot: [
    snapshots.snapshotSchema,
    'A snapshot. `cutting`: not there yet; `processing`: cut, and of no use yet; `createdAt`: the time of the cut.',
    snapshot,
  ],
  SnapshotPage: [
    snapshots.snapshotPageSchema,
    'One page of snapshots, by id; without `nextPageToken` the last.',
    { snapshots: [snapshot] },
  ],
  GroupSpec: [
    snapshots.groupSpecSchema,
    'The volumes to cut at one point in time, each named once.',
    { name: 'group-1', volumeIds: ['east.pvc-1'] },
  ],
  Group: [
    snapshots.groupSchema,
    'Snapshots of several volumes, cut at one point in time; ready once all of them are.',
    { id: 'east.group-1', name: 'group-1', state: 'ready', snapshots: [member], createdAt },
  ],
  BlockPage: [
    snapshots.blockPageSchema,
    'Blocks in increasing order, without overlap; without `nextOffset` the last.',
    { sizeBytes, blocks: [{ offset: 0, length: 1_048_576 }], nextOffset: 1_048_576 },
  ],
};

const storageRows: Readonly<Record<string, Row>> = {
  Capabilities: [
    resources.capabilitiesSchema,
    'What the storage can do; a feature that is absent answers UNIMPLEMENTED.',
    {
      backend: 'image',
      version: '0.1.0',
      accessModes: ['SINGLE_NODE_WRITER'],
      accessTypes: ['mount', 'block'],
      features: ['capacity', 'expand'],
    },
  ],
  CapacitySpec: [resources.capacitySpecSchema, 'A kind of volume.', { capabilities: [capability] }],
  Capacity: [
    resources.capacitySchema,
    "The room left, in bytes, and the bounds of one volume's size where they are known.",
    { availableBytes: 1_099_511_627_776, minimumVolumeBytes: 1_048_576 },
  ],
  Segments: [
    segmentsSchema,
    'Where something is, or where it is reached from: all segments hold at once. Keys do not differ in case alone.',
    place,
  ],
  TopologyRequirement: [
    topologyRequirementSchema,
    'Where something new must be reached from. Values that are empty, and terms without any other, say nothing.',
    { requisite: [place], preferred: [place] },
  ],
  NodeSpec: [resources.nodeSpecSchema, 'What a cluster says of one of its nodes.', node],
  Node: [resources.nodeSchema, 'A node of a cluster.', { id: 'node-1', ...node }],
};

/** The schemas that the API's document has by name, each with an example that it accepts. */
export const components = z.registry<Component>();

for (const [id, [schema, description, example]] of Object.entries({
  ...storageRows,
  ...volumeRows,
  ...snapshotRows,
}))
  components.add(schema, { id, description, examples: [example] });
