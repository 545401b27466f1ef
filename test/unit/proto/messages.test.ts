import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { MessageTypeDefinition } from '@grpc/proto-loader';
import { loadSync } from '@grpc/proto-loader';
import * as fc from 'fast-check';
import protobuf from 'protobufjs';
import { codecOf, type Codec, type Messages, type Services } from '../../../src/csi/protocol.ts';
import csiMessages, { services } from '../../../src/csi/generated/csi.messages.js';
import nodeMessages, { services as nodeServices } from '../../../src/csi/generated/node.messages.js';
import { services as registrationServices } from '../../../src/csi/generated/pluginregistration.messages.js';
import { readProto } from '../../../proto/read.ts';
import { messageOf } from './message.ts';

const protoFile = join(import.meta.dirname, '../../../proto', 'csi.proto');
const options = { keepCase: true, longs: String, enums: String, defaults: true, oneofs: true };
const { root } = readProto('csi.proto');
/** Another implementation of the same: it reads the .proto file now and knows nothing of the generated code. */
const reference = loadSync(protoFile, options);
const bundles: Readonly<Record<string, { readonly messages: Messages; readonly services: Services }>> = {
  csi: { messages: csiMessages, services },
  node: { messages: nodeMessages, services: nodeServices },
};
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

describe('the generated code', () => {
  test('marks every field of secrets, and only those, as secret', () => {
    const fields = typesIn(root).flatMap(type => type.fieldsArray);
    const marked = fields.filter(field => field.getOption('(csi_secret)') === true);
    const named = fields.filter(field => field.name === 'secrets');
    assert.deepEqual(
      marked.map(field => field.fullName),
      named.map(field => field.fullName),
    );
    assert.equal(named.length, 22);
  });

  test('serves all five services of csi', () => {
    assert.deepEqual(Object.keys(services).sort(), [
      'csi.v1.Controller',
      'csi.v1.GroupController',
      'csi.v1.Identity',
      'csi.v1.Node',
      'csi.v1.SnapshotMetadata',
    ]);
  });

  test('serves Identity and Node to the node agent, without what the controller alone uses', () => {
    assert.deepEqual(Object.keys(nodeServices).sort(), ['csi.v1.Identity', 'csi.v1.Node']);
    assert.throws(() => codecOf(nodeMessages, 'csi.v1.CreateVolumeRequest'), /no message/);
    assert.throws(() => codecOf(nodeMessages, 'google.protobuf.Timestamp'), /no message/);
  });

  test('serves Registration', () => {
    assert.deepEqual(Object.keys(registrationServices), ['pluginregistration.Registration']);
  });

  test('has every method as the .proto file has it', () => {
    for (const [name, methods] of Object.entries(services)) {
      const service = root.lookupService(name);
      const wanted = service.methodsArray.map(method => ({
        name: method.name,
        request: method.resolvedRequestType?.fullName.slice(1),
        answer: method.resolvedResponseType?.fullName.slice(1),
        requestStream: method.requestStream ?? false,
        responseStream: method.responseStream ?? false,
      }));
      assert.deepEqual(methods, wanted);
    }
  });

  for (const [name, bundle] of Object.entries(bundles)) {
    test(`of ${name} brings every request and answer back as it was sent, with the bytes of the reference`, () => {
      const methods = Object.values(bundle.services).flat();
      for (const type of new Set(methods.flatMap(({ request, answer }) => [request, answer]))) {
        const { serialize, deserialize } = codecOf(bundle.messages, type);
        const sent = messageOf(root.lookupType(type));
        const back = fc.property(sent, value => {
          const wire = serialize(value);
          assert.deepStrictEqual(deserialize(wire), value, type);
          assert.deepStrictEqual(wire, Buffer.from(referenceOf(type).serialize(value)), type);
        });
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
      assert.deepStrictEqual(decode(type, codec(type).serialize(value)), value);
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

  test('that leaves everything out is filled with defaults', () => {
    assert.deepStrictEqual(decode('NodeGetInfoResponse', Buffer.alloc(0)), {
      node_id: '',
      max_volumes_per_node: '0',
      accessible_topology: null,
    });
  });

  test('of a newer caller brings an unknown enum value as its number, and loses an unknown field', () => {
    const wire = Buffer.from('08054801', 'hex');
    assert.deepStrictEqual(decode('BlockMetadata', wire), {
      byte_offset: '5',
      size_bytes: '0',
    });
    const unit = Buffer.from('2063', 'hex');
    assert.equal((decode('VolumeUsage', unit) as { unit: unknown }).unit, 99);
  });

  test('with an enum name that nobody knows is sent without it', () => {
    assert.equal(hex('VolumeUsage', { unit: 'PARSECS' }), '');
  });
});

const typesIn = (space: protobuf.NamespaceBase): protobuf.Type[] =>
  space.nestedArray.flatMap(object => {
    if (!(object instanceof protobuf.Namespace)) return [];
    return object instanceof protobuf.Type ? [object, ...typesIn(object)] : typesIn(object);
  });

const codec = (type: string): Codec => codecOf(csiMessages, `csi.v1.${type}`);

const hex = (type: string, value: object) => codec(type).serialize(value).toString('hex');

const decode = (type: string, wire: Buffer) => codec(type).deserialize(wire);

const referenceOf = (fullName: string) => {
  const found = reference[fullName];
  assert.ok(found && 'serialize' in found, `no message ${fullName}`);
  return found as MessageTypeDefinition<object, object>;
};
