import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import {
  type AnyDefinition,
  fromJSON,
  type MethodDefinition,
  type PackageDefinition,
} from '@grpc/proto-loader';
import * as fc from 'fast-check';
import protobuf from 'protobufjs';
import csi from '../../src/csi/generated/csi.json' with { type: 'json' };
import node from '../../src/csi/generated/node.json' with { type: 'json' };
import registration from '../../src/csi/generated/pluginregistration.json' with { type: 'json' };
import { messageOf } from './message.ts';

type Message = Record<string, unknown>;
type Method = MethodDefinition<Message, Message>;

const options = { keepCase: true, longs: String, enums: String, defaults: true, oneofs: true };
const root = protobuf.Root.fromJSON(csi).resolveAll();
const definitions = { csi: fromJSON(csi, options), node: fromJSON(node, options) };
const biggest = '9223372036854775807';
const smallest = '-9223372036854775808';

const mountedVolume = {
  volume_id: 'a.pvc-1',
  publish_context: { protocol: 'loop', path: '/dev/loop0' },
  staging_target_path: '/var/lib/kubelet/staging',
  volume_capability: {
    mount: { fs_type: 'ext4', mount_flags: ['noatime', 'discard'], volume_mount_group: '1000' },
    access_mode: { mode: 'MULTI_NODE_SINGLE_WRITER' },
    access_type: 'mount',
  },
  secrets: { passphrase: 'ünlöck' },
  volume_context: {},
};

describe('the committed descriptors', () => {
  test('are what proto/generate.ts makes of the .proto files', () => {
    const script = join(import.meta.dirname, '..', '..', 'proto', 'generate.ts');
    const run = spawnSync(process.execPath, [script, '--check'], { encoding: 'utf8' });
    assert.equal(run.status, 0, run.stderr);
  });

  test('mark every field of secrets, and only those, as secret', () => {
    const fields = typesIn(root).flatMap(type => type.fieldsArray);
    const marked = fields.filter(field => field.getOption('(csi_secret)') === true);
    const named = fields.filter(field => field.name === 'secrets');
    assert.deepEqual(
      marked.map(field => field.fullName),
      named.map(field => field.fullName),
    );
    assert.equal(named.length, 22);
  });

  test('csi.json serves all five services', () => {
    assert.deepEqual(servicesIn(definitions.csi), [
      'csi.v1.Controller',
      'csi.v1.GroupController',
      'csi.v1.Identity',
      'csi.v1.Node',
      'csi.v1.SnapshotMetadata',
    ]);
  });

  test('node.json serves Identity and Node, and describes nothing that the controller alone uses', () => {
    assert.deepEqual(servicesIn(definitions.node), ['csi.v1.Identity', 'csi.v1.Node']);
    assert.equal(definitions.node['csi.v1.CreateVolumeRequest'], undefined);
    assert.equal(definitions.node['google.protobuf.Timestamp'], undefined);
  });

  test('pluginregistration.json serves Registration', () => {
    assert.deepEqual(servicesIn(fromJSON(registration, options)), ['pluginregistration.Registration']);
  });

  for (const name of ['csi', 'node'] as const) {
    test(`${name}.json brings every request and answer back as it was sent`, () => {
      for (const { path, type, encode, decode } of messagesOf(definitions[name])) {
        const sent = messageOf(root.lookupType(type));
        const back = fc.property(sent, value => assert.deepStrictEqual(decode(encode(value)), value, path));
        fc.assert(back, { numRuns: 25 });
      }
    });
  }
});

describe('a message', () => {
  for (const [what, type, value] of [
    [
      'the smallest and the biggest int64',
      'CapacityRange',
      { required_bytes: smallest, limit_bytes: biggest },
    ],
    ['an int64 above 2^53', 'CapacityRange', { required_bytes: '9007199254740993', limit_bytes: '0' }],
    ['a map with an empty key and an empty value', 'Topology', { segments: { '': 'x', y: '' } }],
    ['an empty map', 'Topology', { segments: {} }],
    ['a oneof', 'VolumeContentSource', { snapshot: { snapshot_id: 's' }, type: 'snapshot' }],
    ['the other side of a oneof', 'VolumeContentSource', { volume: { volume_id: 'v' }, type: 'volume' }],
    ['a oneof that is not set', 'VolumeContentSource', {}],
    ['a wrapped false', 'ProbeResponse', { ready: { value: false } }],
    ['an absent wrapper', 'ProbeResponse', { ready: null }],
    ['a mounted volume', 'NodeStageVolumeRequest', mountedVolume],
  ] as const) {
    test(`keeps ${what}`, () => {
      assert.deepStrictEqual(decode(definitions.csi, type, encode(definitions.csi, type, value)), value);
    });
  }

  test('has these bytes', () => {
    assert.equal(hex('CapacityRange', { required_bytes: '1', limit_bytes: '300' }), '080110ac02');
    assert.equal(hex('Topology', { segments: { a: 'b' } }), '0a060a0161120162');
    assert.equal(
      hex('VolumeCapability', { block: {}, access_mode: { mode: 'SINGLE_NODE_WRITER' } }),
      '0a001a020801',
    );
    assert.equal(hex('ProbeResponse', { ready: { value: true } }), '0a020801');
  });

  test('has the same bytes from node.json as from csi.json', () => {
    const [slim, full] = [definitions.node, definitions.csi].map(each =>
      encode(each, 'NodeStageVolumeRequest', mountedVolume),
    );
    assert.deepEqual(slim, full);
  });

  test('that leaves everything out is filled with defaults', () => {
    assert.deepStrictEqual(decode(definitions.csi, 'NodeGetInfoResponse', Buffer.alloc(0)), {
      node_id: '',
      max_volumes_per_node: '0',
      accessible_topology: null,
    });
  });

  test('of a newer caller brings an unknown enum value as its number, and loses an unknown field', () => {
    const wire = Buffer.from('08054801', 'hex');
    assert.deepStrictEqual(decode(definitions.csi, 'BlockMetadata', wire), {
      byte_offset: '5',
      size_bytes: '0',
    });
    const unit = Buffer.from('2063', 'hex');
    assert.equal((decode(definitions.csi, 'VolumeUsage', unit) as { unit: unknown }).unit, 99);
  });

  test('with an enum name that nobody knows is sent without it', () => {
    assert.equal(hex('VolumeUsage', { unit: 'PARSECS' }), '');
  });
});

const servicesIn = (definition: PackageDefinition) =>
  Object.keys(definition)
    .filter(name => isService(definition[name]))
    .sort();

const isService = (definition: AnyDefinition | undefined) =>
  definition !== undefined && !('format' in definition);

const messagesOf = (definition: PackageDefinition) =>
  servicesIn(definition)
    .flatMap(name => Object.values(definition[name] as Record<string, Method>))
    .flatMap(method => [
      {
        path: `request of ${method.path}`,
        type: `csi.v1.${(method.requestType.type as { name: string }).name}`,
        encode: method.requestSerialize,
        decode: method.requestDeserialize,
      },
      {
        path: `answer of ${method.path}`,
        type: `csi.v1.${(method.responseType.type as { name: string }).name}`,
        encode: method.responseSerialize,
        decode: method.responseDeserialize,
      },
    ]);

const typesIn = (space: protobuf.NamespaceBase): protobuf.Type[] =>
  space.nestedArray.flatMap(object => {
    if (!(object instanceof protobuf.Namespace)) return [];
    return object instanceof protobuf.Type ? [object, ...typesIn(object)] : typesIn(object);
  });

const encode = (definition: PackageDefinition, type: string, value: object): Buffer =>
  Buffer.from(messageDefinition(definition, type).serialize(value));

const hex = (type: string, value: object) => encode(definitions.csi, type, value).toString('hex');

const decode = (definition: PackageDefinition, type: string, wire: Buffer) =>
  messageDefinition(definition, type).deserialize(wire);

const messageDefinition = (definition: PackageDefinition, type: string) => {
  const found = definition[`csi.v1.${type}`];
  assert.ok(found && 'serialize' in found && typeof found.serialize === 'function', `no message ${type}`);
  return found as { serialize: (value: object) => Uint8Array; deserialize: (wire: Buffer) => object };
};
