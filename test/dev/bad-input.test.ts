import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Problem, type ProblemCode } from '../../src/api/problem.ts';
import { connectCsi, type CsiClient } from '../../src/csi/client.ts';
import type { VolumeCapability } from '../../src/csi/generated/csi/v1/VolumeCapability.ts';
import { startDev, type Dev } from '../harness/dev.ts';
import { makeTemporaryDirectory, noRoot, removeTemporaryDirectory } from '../harness/machine.ts';

const writer: VolumeCapability = { mount: { fs_type: 'ext4' }, access_mode: { mode: 'SINGLE_NODE_WRITER' } };
const base = { name: 'bad', volume_capabilities: [writer] };
const big = { key: 'x'.repeat(4_097) };

type Place = {
  readonly controller: CsiClient['controller'];
  readonly node: CsiClient['node'];
  readonly nodeId: string;
  readonly volume_id: string;
  readonly publish_context: Record<string, string>;
  readonly staging_target_path: string;
  readonly kubelet: string;
};

type Case = readonly [
  title: string,
  code: ProblemCode,
  message: RegExp,
  call: (place: Place) => Promise<unknown>,
];

const createCases: readonly Case[] = [
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

const controllerCases: readonly Case[] = [
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

const nodeCases: readonly Case[] = [
  ['stage without an id', 'INVALID_ARGUMENT', /volume_id is missing/, p => stage(p, { volume_id: '' })],
  [
    'stage without a path',
    'INVALID_ARGUMENT',
    /staging_target_path/,
    p => stage(p, { staging_target_path: '' }),
  ],
  [
    'stage without a capability',
    'INVALID_ARGUMENT',
    /volume_capability is missing/,
    p => stage(p, { volume_capability: null }),
  ],
  [
    'stage without a publish context',
    'INVALID_ARGUMENT',
    /publish context has no protocol/,
    p => stage(p, { publish_context: {} }),
  ],
  [
    'stage over an unknown protocol',
    'INVALID_ARGUMENT',
    /"carrier-pigeon"/,
    p => stage(p, { publish_context: { protocol: 'carrier-pigeon' } }),
  ],
  [
    'stage with a publish context over 4 KiB',
    'INVALID_ARGUMENT',
    /bytes/,
    p => stage(p, { publish_context: { ...p.publish_context, ...big } }),
  ],
  [
    'stage a filesystem that is not offered',
    'INVALID_ARGUMENT',
    /"ntfs"/,
    p => stage(p, { volume_capability: { ...writer, mount: { fs_type: 'ntfs' } } }),
  ],
  [
    'stage with a forbidden mount flag',
    'INVALID_ARGUMENT',
    /"suid_dumpable"/,
    p =>
      stage(p, {
        volume_capability: { ...writer, mount: { fs_type: 'ext4', mount_flags: ['suid_dumpable'] } },
      }),
  ],
  [
    'stage with two mount flags in one',
    'INVALID_ARGUMENT',
    /noatime,dev/,
    p =>
      stage(p, {
        volume_capability: { ...writer, mount: { fs_type: 'ext4', mount_flags: ['noatime,dev'] } },
      }),
  ],
  ['stage at a relative path', 'INVALID_ARGUMENT', /"a\/b"/, p => stage(p, { staging_target_path: 'a/b' })],
  [
    "stage outside kubelet's directory",
    'INVALID_ARGUMENT',
    /"\/etc"/,
    p => stage(p, { staging_target_path: '/etc' }),
  ],
  [
    'stage at a path that climbs',
    'INVALID_ARGUMENT',
    /\.\./,
    p => stage(p, { staging_target_path: `${p.kubelet}/../etc` }),
  ],
  [
    'stage through a symbolic link',
    'INVALID_ARGUMENT',
    /symbolic link/,
    p => stage(p, { staging_target_path: join(p.kubelet, 'link', 'staging') }),
  ],
  ['publish what is not staged', 'FAILED_PRECONDITION', /staged/, p => nodePublish(p, {})],
  ['publish without a target', 'INVALID_ARGUMENT', /target_path/, p => nodePublish(p, { target_path: '' })],
  [
    'publish without a staging path',
    'FAILED_PRECONDITION',
    /staging_target_path/,
    p => nodePublish(p, { staging_target_path: '' }),
  ],
  [
    'unpublish without a target',
    'INVALID_ARGUMENT',
    /target_path/,
    p => p.node.NodeUnpublishVolume({ volume_id: p.volume_id }),
  ],
  [
    'unstage without an id',
    'INVALID_ARGUMENT',
    /volume_id is missing/,
    p => p.node.NodeUnstageVolume({ staging_target_path: p.staging_target_path }),
  ],
  [
    'stats of an unknown volume',
    'NOT_FOUND',
    /"dev\.unknown"/,
    p => p.node.NodeGetVolumeStats({ volume_id: 'dev.unknown', volume_path: join(p.kubelet, 'x') }),
  ],
  [
    'stats without a path',
    'INVALID_ARGUMENT',
    /volume_path/,
    p => p.node.NodeGetVolumeStats({ volume_id: p.volume_id }),
  ],
  [
    'expand what is not mounted there',
    'NOT_FOUND',
    /"dev\.good"/,
    p => p.node.NodeExpandVolume({ volume_id: p.volume_id, volume_path: p.kubelet }),
  ],
];

if (noRoot === false) {
  let dev: Dev;
  let place: Place;
  let clients: readonly CsiClient[] = [];
  const dir = makeTemporaryDirectory();

  before(async () => {
    const kubelet = join(dir, 'kubelet');
    mkdirSync(join(kubelet, 'staging'), { recursive: true });
    symlinkSync('/etc', join(kubelet, 'link'));
    dev = await startDev({ dir: join(dir, 'dev'), 'kubelet-dir': kubelet, 'log-level': 'error' });
    clients = [connectCsi(dev.controller), connectCsi(dev.node)];
    const [{ controller }, { node }] = clients as [CsiClient, CsiClient];
    const { volume } = await controller.CreateVolume({
      name: 'good',
      capacity_range: { required_bytes: 2 ** 28 },
      volume_capabilities: [writer],
    });
    const volume_id = volume?.volume_id ?? '';
    const { publish_context } = await controller.ControllerPublishVolume({
      volume_id,
      node_id: dev.nodeId,
      volume_capability: writer,
    });
    place = {
      controller,
      node,
      nodeId: dev.nodeId,
      volume_id,
      publish_context,
      staging_target_path: join(kubelet, 'staging'),
      kubelet,
    };
  });

  after(async () => {
    for (const client of clients) client.close();
    await dev.end();
    removeTemporaryDirectory(dir);
  });

  for (const [title, code, message, call] of [...createCases, ...controllerCases, ...nodeCases]) {
    test(`${title} is ${code}`, async () => {
      const error = await call(place).then(
        () => assert.fail('it was accepted'),
        (thrown: unknown) => thrown,
      );
      assert.ok(error instanceof Problem, String(error));
      assert.equal(error.code, code, error.detail);
      assert.match(error.detail, message);
    });
  }

  test('a name of 128 bytes and names of odd characters make volumes of their own', async () => {
    const names = [
      'n'.repeat(128),
      `${'n'.repeat(127)}m`,
      'ä/../b',
      'ä/../c',
      'A',
      'a',
      ' ',
      '.',
      '..',
      '%2e',
    ];
    const ids = new Set<string>();
    for (const name of names) {
      const { volume } = await create(place, { name, capacity_range: { required_bytes: 2 ** 24 } });
      ids.add(volume?.volume_id ?? '');
    }
    assert.equal(ids.size, names.length);
    for (const id of ids) {
      assert.match(id, /^dev\.[A-Za-z0-9_.-]+$/);
      await place.controller.DeleteVolume({ volume_id: id });
    }
  });

  test('deleting and detaching what is not there succeeds', async () => {
    await place.controller.DeleteVolume({ volume_id: 'dev.unknown' });
    await place.controller.DeleteVolume({ volume_id: '../../etc/passwd' });
    await place.controller.ControllerUnpublishVolume({ volume_id: 'dev.unknown', node_id: place.nodeId });
    await place.controller.ControllerUnpublishVolume({ volume_id: '..', node_id: '' });
    await place.node.NodeUnpublishVolume({
      volume_id: 'dev.unknown',
      target_path: join(place.kubelet, 'nothing'),
    });
    await place.node.NodeUnstageVolume({
      volume_id: 'dev.unknown',
      staging_target_path: join(place.kubelet, 'nothing'),
    });
  });

  test('nothing without a token is told anything but 401', async () => {
    for (const path of [
      '/',
      '/v1/capabilities',
      '/v1/volumes',
      '/v1/volumes/dev.good',
      '/v1/nodes/x',
      '/openapi.json',
      '/healthz',
    ]) {
      const response = await fetch(dev.gateway + path);
      const body = (await response.json()) as Record<string, unknown>;
      assert.equal(response.status, 401, path);
      assert.equal(response.headers.get('content-type'), 'application/problem+json');
      assert.equal(body['code'], 'UNAUTHENTICATED');
      assert.deepEqual(Object.keys(body).sort(), ['code', 'detail', 'requestId', 'status', 'title', 'type']);
    }
  });
} else {
  test('bad input over the sockets', { skip: noRoot }, () => {});
}

type Request<K extends keyof CsiClient['controller']> = Parameters<CsiClient['controller'][K]>[0];
type NodeRequest<K extends keyof CsiClient['node']> = Parameters<CsiClient['node'][K]>[0];

function create(
  place: Place,
  request: Request<'CreateVolume'>,
): ReturnType<CsiClient['controller']['CreateVolume']> {
  return place.controller.CreateVolume({ ...base, ...request });
}

function publish(
  { controller, volume_id, nodeId }: Place,
  request: Request<'ControllerPublishVolume'>,
): Promise<unknown> {
  return controller.ControllerPublishVolume({
    volume_id,
    node_id: nodeId,
    volume_capability: writer,
    ...request,
  });
}

function stage(
  { node, volume_id, publish_context, staging_target_path }: Place,
  request: NodeRequest<'NodeStageVolume'>,
): Promise<unknown> {
  return node.NodeStageVolume({
    volume_id,
    publish_context,
    staging_target_path,
    volume_capability: writer,
    ...request,
  });
}

function nodePublish(place: Place, request: NodeRequest<'NodePublishVolume'>): Promise<unknown> {
  const { node, volume_id, publish_context, staging_target_path } = place;
  const target_path = join(place.kubelet, 'target');
  return node.NodePublishVolume({
    volume_id,
    publish_context,
    staging_target_path,
    target_path,
    volume_capability: writer,
    ...request,
  });
}
