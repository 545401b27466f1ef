import { base, big, create, publish, writer, type Case } from './place.ts';

/** Volumes that cannot be made. */
export const createCases: readonly Case[] = [
  ['no name', 'INVALID_ARGUMENT', /name is missing/, p => p.controller.CreateVolume({ ...base, name: '' })],
  [
    'a name of 129 bytes',
    'INVALID_ARGUMENT',
    /name has 129 bytes/,
    p => p.controller.CreateVolume({ ...base, name: 'n'.repeat(129) }),
  ],
  [
    'no capabilities',
    'INVALID_ARGUMENT',
    /volume_capabilities is missing/,
    p => p.controller.CreateVolume({ name: 'bad' }),
  ],
  [
    'no access type',
    'INVALID_ARGUMENT',
    /no access type/,
    p => create(p, { volume_capabilities: [{ access_mode: { mode: 'SINGLE_NODE_WRITER' } }] }),
  ],
  [
    'no access mode',
    'INVALID_ARGUMENT',
    /no access mode/,
    p => create(p, { volume_capabilities: [{ mount: {} }] }),
  ],
  [
    'many writers',
    'INVALID_ARGUMENT',
    /MULTI_NODE_MULTI_WRITER/,
    p =>
      create(p, { volume_capabilities: [{ mount: {}, access_mode: { mode: 'MULTI_NODE_MULTI_WRITER' } }] }),
  ],
  ['an unknown parameter', 'INVALID_ARGUMENT', /colour/, p => create(p, { parameters: { colour: 'red' } })],
  [
    'parameters over 4 KiB',
    'INVALID_ARGUMENT',
    /parameters has 4100 bytes/,
    p => create(p, { parameters: big }),
  ],
  [
    'a negative size',
    'INVALID_ARGUMENT',
    /required_bytes is -1/,
    p => create(p, { capacity_range: { required_bytes: -1 } }),
  ],
  [
    'a negative limit',
    'INVALID_ARGUMENT',
    /limit_bytes is -1/,
    p => create(p, { capacity_range: { limit_bytes: -1 } }),
  ],
  ['an empty range', 'INVALID_ARGUMENT', /neither/, p => create(p, { capacity_range: {} })],
  [
    'a limit below the size',
    'INVALID_ARGUMENT',
    /2000.*1000/,
    p => create(p, { capacity_range: { required_bytes: 2000, limit_bytes: 1000 } }),
  ],
  [
    'a size over 2^53',
    'OUT_OF_RANGE',
    /9007199254740993/,
    p => create(p, { capacity_range: { required_bytes: '9007199254740993' } }),
  ],
  [
    'a size that no file can have',
    'OUT_OF_RANGE',
    /bytes/,
    p => create(p, { capacity_range: { required_bytes: 2 ** 52 } }),
  ],
  [
    'a limit too small for any volume',
    'OUT_OF_RANGE',
    /bytes/,
    p => create(p, { capacity_range: { limit_bytes: 1 } }),
  ],
  [
    'a source that is not there',
    'NOT_FOUND',
    /"dev\.nothing"/,
    p => create(p, { volume_content_source: { snapshot: { snapshot_id: 'dev.nothing' } } }),
  ],
  [
    'a topology',
    'INVALID_ARGUMENT',
    /accessibility_requirements/,
    p => create(p, { accessibility_requirements: { requisite: [{ segments: { zone: 'a' } }] } }),
  ],
  [
    'an unknown mutable parameter',
    'INVALID_ARGUMENT',
    /iops/,
    p => create(p, { mutable_parameters: { iops: '1' } }),
  ],
  [
    'a known name with another size',
    'ALREADY_EXISTS',
    /bytes/,
    p => create(p, { name: 'good', capacity_range: { required_bytes: 2 ** 30 } }),
  ],
];

/** Other calls of the Controller service. */
export const controllerCases: readonly Case[] = [
  ['delete without an id', 'INVALID_ARGUMENT', /volume_id is missing/, p => p.controller.DeleteVolume({})],
  [
    'delete while attached',
    'FAILED_PRECONDITION',
    /node/,
    p => p.controller.DeleteVolume({ volume_id: p.volume_id }),
  ],
  ['publish without an id', 'INVALID_ARGUMENT', /volume_id is missing/, p => publish(p, { volume_id: '' })],
  ['publish without a node', 'INVALID_ARGUMENT', /node_id is missing/, p => publish(p, { node_id: '' })],
  [
    'publish without a capability',
    'INVALID_ARGUMENT',
    /volume_capability is missing/,
    p => publish(p, { volume_capability: null }),
  ],
  [
    'publish of an unknown volume',
    'NOT_FOUND',
    /"dev\.unknown"/,
    p => publish(p, { volume_id: 'dev.unknown' }),
  ],
  [
    "publish of another cluster's volume",
    'NOT_FOUND',
    /"east\.good"/,
    p => publish(p, { volume_id: 'east.good' }),
  ],
  ['publish to an unknown node', 'NOT_FOUND', /"nowhere"/, p => publish(p, { node_id: 'nowhere' })],
  ['publish to a node named ..', 'NOT_FOUND', /"\.\."/, p => publish(p, { node_id: '..' })],
  ['publish again as read-only', 'ALREADY_EXISTS', /"dev\.good"/, p => publish(p, { readonly: true })],
  [
    'unpublish without an id',
    'INVALID_ARGUMENT',
    /volume_id is missing/,
    p => p.controller.ControllerUnpublishVolume({}),
  ],
  [
    'validate an unknown volume',
    'NOT_FOUND',
    /"dev\.unknown"/,
    p => p.controller.ValidateVolumeCapabilities({ volume_id: 'dev.unknown', volume_capabilities: [writer] }),
  ],
  [
    'validate without capabilities',
    'INVALID_ARGUMENT',
    /volume_capabilities is missing/,
    p => p.controller.ValidateVolumeCapabilities({ volume_id: p.volume_id }),
  ],
  [
    'list with a negative number',
    'INVALID_ARGUMENT',
    /max_entries is -1/,
    p => p.controller.ListVolumes({ max_entries: -1 }),
  ],
  [
    'list with a foreign token',
    'ABORTED',
    /token/,
    p => p.controller.ListVolumes({ starting_token: 'made-up' }),
  ],
  [
    'get an unknown volume',
    'NOT_FOUND',
    /"dev\.unknown"/,
    p => p.controller.ControllerGetVolume({ volume_id: 'dev.unknown' }),
  ],
  [
    'a snapshot of an unknown volume',
    'NOT_FOUND',
    /"dev\.unknown"/,
    p => p.controller.CreateSnapshot({ name: 's', source_volume_id: 'dev.unknown' }),
  ],
];
