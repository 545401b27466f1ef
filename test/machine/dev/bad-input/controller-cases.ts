import { create, publish, writer, type Case } from './place.ts';

/** Volumes that cannot be created. What is refused before the gateway is asked, a table of the controller's has. */
export const createCases: readonly Case[] = [
  [
    'no access type',
    'INVALID_ARGUMENT',
    p => create(p, { volume_capabilities: [{ access_mode: { mode: 'SINGLE_NODE_WRITER' } }] }),
  ],
  [
    'many writers',
    'INVALID_ARGUMENT',
    p =>
      create(p, { volume_capabilities: [{ mount: {}, access_mode: { mode: 'MULTI_NODE_MULTI_WRITER' } }] }),
  ],
  ['an unknown parameter', 'INVALID_ARGUMENT', p => create(p, { parameters: { colour: 'red' } })],
  ['a negative limit', 'INVALID_ARGUMENT', p => create(p, { capacity_range: { limit_bytes: -1 } })],
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
  ['an unknown mutable parameter', 'INVALID_ARGUMENT', p => create(p, { mutable_parameters: { iops: '1' } })],
  [
    'a known name with another size',
    'ALREADY_EXISTS',
    p => create(p, { name: 'good', capacity_range: { required_bytes: 2 ** 30 } }),
  ],
];

/** Other calls of the Controller service. */
export const controllerCases: readonly Case[] = [
  [
    'delete while attached',
    'FAILED_PRECONDITION',
    p => p.controller.DeleteVolume({ volume_id: p.volume_id }),
  ],
  ['publish of an unknown volume', 'NOT_FOUND', p => publish(p, { volume_id: 'dev.unknown' })],
  ["publish of another cluster's volume", 'NOT_FOUND', p => publish(p, { volume_id: 'east.good' })],
  ['publish to an unknown node', 'NOT_FOUND', p => publish(p, { node_id: 'nowhere' })],
  ['publish to a node named ..', 'NOT_FOUND', p => publish(p, { node_id: '..' })],
  ['publish again as read-only', 'ALREADY_EXISTS', p => publish(p, { readonly: true })],
  [
    'validate an unknown volume',
    'NOT_FOUND',
    p => p.controller.ValidateVolumeCapabilities({ volume_id: 'dev.unknown', volume_capabilities: [writer] }),
  ],
  ['list with a foreign token', 'ABORTED', p => p.controller.ListVolumes({ starting_token: 'made-up' })],
  ['get an unknown volume', 'NOT_FOUND', p => p.controller.ControllerGetVolume({ volume_id: 'dev.unknown' })],
  [
    'a snapshot of an unknown volume',
    'NOT_FOUND',
    p => p.controller.CreateSnapshot({ name: 's', source_volume_id: 'dev.unknown' }),
  ],
];
