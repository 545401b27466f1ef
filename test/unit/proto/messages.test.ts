import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { MessageTypeDefinition } from '@grpc/proto-loader';
import { loadSync } from '@grpc/proto-loader';
import * as fc from 'fast-check';
import protobuf from 'protobufjs';
import { codecOf, type Messages, type Services } from '../../../src/csi/protocol.ts';
import csiMessages, { services } from '../../../src/csi/generated/csi.messages.js';
import nodeMessages, { services as nodeServices } from '../../../src/csi/generated/node.messages.js';
import { services as registrationServices } from '../../../src/csi/generated/pluginregistration.messages.js';
import { readProto } from '../../../proto/read.ts';

const protoFile = join(import.meta.dirname, '../../../proto', 'csi.proto');
const options = { keepCase: true, longs: String, enums: String, defaults: true, oneofs: true };
const { root } = readProto('csi.proto');
/** Another implementation: it reads the .proto file at run time and shares no generated code. */
const reference = loadSync(protoFile, options);
const bundles: Readonly<Record<string, { readonly messages: Messages; readonly services: Services }>> = {
  csi: { messages: csiMessages, services },
  node: { messages: nodeMessages, services: nodeServices },
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

  test('serves all five services of csi, and only Identity and Node to the node agent', () => {
    const names = ['Controller', 'GroupController', 'Identity', 'Node', 'SnapshotMetadata'];
    const served = Object.keys(services).sort();
    assert.deepEqual(
      served,
      names.map(name => `csi.v1.${name}`),
    );
    assert.deepEqual(Object.keys(nodeServices).sort(), ['csi.v1.Identity', 'csi.v1.Node']);
    assert.throws(() => codecOf(nodeMessages, 'csi.v1.CreateVolumeRequest'), /no message/);
    assert.throws(() => codecOf(nodeMessages, 'google.protobuf.Timestamp'), /no message/);
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
    test(`of ${name} returns every request and answer unchanged, with the reference's bytes`, () => {
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
  test('has these bytes', () => {
    const wire = hex('VolumeCapability', { block: {}, access_mode: { mode: 'SINGLE_NODE_WRITER' } });
    assert.equal(wire, '0a001a020801');
  });

  test('that leaves everything out is filled with defaults', () => {
    assert.deepStrictEqual(decode('NodeGetInfoResponse', Buffer.alloc(0)), {
      node_id: '',
      max_volumes_per_node: '0',
      accessible_topology: null,
    });
  });

  test('of a newer caller returns an unknown enum value as its number, and drops an unknown field', () => {
    const wire = Buffer.from('08054801', 'hex');
    assert.deepStrictEqual(decode('BlockMetadata', wire), {
      byte_offset: '5',
      size_bytes: '0',
    });
    const unit = Buffer.from('2063', 'hex');
    assert.equal((decode('VolumeUsage', unit) as { unit: unknown }).unit, 99);
  });

  test('with an unknown enum name is sent without it', () => {
    assert.equal(hex('VolumeUsage', { unit: 'PARSECS' }), '');
  });
});

const typesIn = (space: protobuf.NamespaceBase): protobuf.Type[] =>
  space.nestedArray.flatMap(object => {
    if (!(object instanceof protobuf.Namespace)) return [];
    return object instanceof protobuf.Type ? [object, ...typesIn(object)] : typesIn(object);
  });

const codec = (type: string) => codecOf(csiMessages, `csi.v1.${type}`);

const hex = (type: string, value: object) => codec(type).serialize(value).toString('hex');

const decode = (type: string, wire: Buffer) => codec(type).deserialize(wire);

const referenceOf = (fullName: string) => {
  const found = reference[fullName];
  assert.ok(found && 'serialize' in found, `no message ${fullName}`);
  return found as MessageTypeDefinition<object, object>;
};

/** Generates complete messages of a type as they are decoded: all fields, and at most one member of each oneof. */
const messageOf = (type: protobuf.Type): fc.Arbitrary<object> => {
  const plain = type.fieldsArray.filter(field => !field.partOf);
  const fields = fc.record(Object.fromEntries(plain.map(field => [field.name, valueOf(field)])), {
    noNullPrototype: true,
  });
  const members = type.oneofsArray.map(memberOf);
  return fc.tuple(fields, ...members).map(parts => Object.assign({}, ...parts));
};

const memberOf = (oneof: protobuf.OneOf): fc.Arbitrary<object> => {
  const members = oneof.fieldsArray.map(field =>
    singleOf(field).map(value => ({ [field.name]: value, [oneof.name]: field.name })),
  );
  return fc.oneof(fc.constant({}), ...members);
};

const valueOf = (field: protobuf.Field): fc.Arbitrary<unknown> => {
  if (field.map) return fc.dictionary(text, singleOf(field), { noNullPrototype: true, maxKeys: 3 });
  if (field.repeated) return fc.array(singleOf(field), { maxLength: 3 });
  return field.resolvedType instanceof protobuf.Type ? fc.option(singleOf(field)) : singleOf(field);
};

const singleOf = ({ resolvedType, type }: protobuf.Field): fc.Arbitrary<unknown> => {
  if (resolvedType instanceof protobuf.Type) return messageOf(resolvedType);
  if (resolvedType instanceof protobuf.Enum) return fc.constantFrom(...Object.keys(resolvedType.values));
  const scalar = scalars[type];
  if (scalar === undefined) throw new Error(`no values known for type ${type}`);
  return scalar;
};

const text = fc.string({ unit: 'grapheme', maxLength: 12 });

const scalars: Record<string, fc.Arbitrary<unknown> | undefined> = {
  string: text,
  bool: fc.boolean(),
  int32: fc.integer(),
  int64: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String),
};
