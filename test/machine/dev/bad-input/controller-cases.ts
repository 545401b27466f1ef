import { base, big, create, publish, writer, type Case } from './place.ts';

/** Volumes that cannot be made. */
export const createCases: readonly Case[] = [
  ['no name', 'INVALID_ARGUMENT', p => p.controller.CreateVolume({ ...base, name: '' })],
  [
    'a name of 129 bytes',
    'INVALID_ARGUMENT',
    p => p.controller.CreateVolume({ ...base, name: 'n'.repeat(129) }),
  ],
  ['no capabilities', 'INVALID_ARGUMENT', p => p.controller.CreateVolume({ name: 'bad' })],
  [
    'no access type',
    'INVALID_ARGUMENT',
    p => create(p, { volume_capabilities: [{ access_mode: { mode: 'SINGLE_NODE_WRITER' } }] }),
  ],
  ['no access mode', 'INVALID_ARGUMENT', p => create(p, { volume_capabilities: [{ mount: {} }] })],
  [
    'many writers',
    'INVALID_ARGUMENT',
    p =>
      create(p, { volume_capabilities: [{ mount: {}, access_mode: { mode: 'MULTI_NODE_MULTI_WRITER' } }] }),
  ],
  ['an unknown parameter', 'INVALID_ARGUMENT', p => create(p, { parameters: { colour: 'red' } })],
  ['parameters over 4 KiB', 'INVALID_ARGUMENT', p => create(p, { parameters: big })],
  ['a negative size', 'INVALID_ARGUMENT', p => create(p, { capacity_range: { required_bytes: -1 } })],
  ['a negative limit', 'INVALID_ARGUMENT', p => create(p, { capacity_range: { limit_bytes: -1 } })],
  ['an empty range', 'INVALID_ARGUMENT', p => create(p, { capacity_range: {} })],
  [
    'a limit below the size',
    'INVALID_ARGUMENT',
    p => create(p, { capacity_range: { required_bytes: 2000, limit_bytes: 1000 } }),
  ],
  [
    'a size over 2^53',
    'OUT_OF_RANGE',
    p => create(p, { capacity_range: { required_bytes: '9007199254740993' } }),
  ],
  [
    'a size that no file can have',
    'OUT_OF_RANGE',
    p => create(p, { capacity_range: { required_bytes: 2 ** 52 } }),
  ],
  [
    'a limit too small for any volume',
    'OUT_OF_RANGE',
    p => create(p, { capacity_range: { limit_bytes: 1 } }),
  ],
  [
    'a source that is not there',
    'NOT_FOUND',
    p => create(p, { volume_content_source: { snapshot: { snapshot_id: 'dev.nothing' } } }),
  ],
  [
    'a topology',
    'INVALID_ARGUMENT',
    p => create(p, { accessibility_requirements: { requisite: [{ segments: { zone: 'a' } }] } }),
  ],
  ['an unknown mutable parameter', 'INVALID_ARGUMENT', p => create(p, { mutable_parameters: { iops: '1' } })],
  [
    'a known name with another size',
    'ALREADY_EXISTS',
    p => create(p, { name: 'good', capacity_range: { required_bytes: 2 ** 30 } }),
  ],
];

/** Other calls of the Controller service. */
export const controllerCases: readonly Case[] = [
  ['delete without an id', 'INVALID_ARGUMENT', p => p.controller.DeleteVolume({})],
  [
    'delete while attached',
    'FAILED_PRECONDITION',
    p => p.controller.DeleteVolume({ volume_id: p.volume_id }),
  ],
  ['publish without an id', 'INVALID_ARGUMENT', p => publish(p, { volume_id: '' })],
  ['publish without a node', 'INVALID_ARGUMENT', p => publish(p, { node_id: '' })],
  ['publish without a capability', 'INVALID_ARGUMENT', p => publish(p, { volume_capability: null })],
  ['publish of an unknown volume', 'NOT_FOUND', p => publish(p, { volume_id: 'dev.unknown' })],
  ["publish of another cluster's volume", 'NOT_FOUND', p => publish(p, { volume_id: 'east.good' })],
  ['publish to an unknown node', 'NOT_FOUND', p => publish(p, { node_id: 'nowhere' })],
  ['publish to a node named ..', 'NOT_FOUND', p => publish(p, { node_id: '..' })],
  ['publish again as read-only', 'ALREADY_EXISTS', p => publish(p, { readonly: true })],
  ['unpublish without an id', 'INVALID_ARGUMENT', p => p.controller.ControllerUnpublishVolume({})],
  [
    'validate an unknown volume',
    'NOT_FOUND',
    p => p.controller.ValidateVolumeCapabilities({ volume_id: 'dev.unknown', volume_capabilities: [writer] }),
  ],
  [
    'validate without capabilities',
    'INVALID_ARGUMENT',
    p => p.controller.ValidateVolumeCapabilities({ volume_id: p.volume_id }),
  ],
  ['list with a negative number', 'INVALID_ARGUMENT', p => p.controller.ListVolumes({ max_entries: -1 })],
  ['list with a foreign token', 'ABORTED', p => p.controller.ListVolumes({ starting_token: 'made-up' })],
  ['get an unknown volume', 'NOT_FOUND', p => p.controller.ControllerGetVolume({ volume_id: 'dev.unknown' })],
  [
    'a snapshot of an unknown volume',
    'NOT_FOUND',
    p => p.controller.CreateSnapshot({ name: 's', source_volume_id: 'dev.unknown' }),
  ],
];
