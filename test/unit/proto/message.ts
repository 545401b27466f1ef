import * as fc from 'fast-check';
import protobuf from 'protobufjs';

type Message = Record<string, unknown>;

/** Any message of a type, in the complete form in which it is decoded: no field left out, one member of each oneof, or none. */
export const messageOf = (type: protobuf.Type): fc.Arbitrary<Message> => {
  const plain = type.fieldsArray.filter(field => !field.partOf);
  const fields = fc.record(Object.fromEntries(plain.map(field => [field.name, valueOf(field)])), {
    noNullPrototype: true,
  });
  const members = type.oneofsArray.map(memberOf);
  return fc.tuple(fields, ...members).map(parts => Object.assign({}, ...parts));
};

const memberOf = (oneof: protobuf.OneOf): fc.Arbitrary<Message> => {
  const members = oneof.fieldsArray.map(field =>
    singleOf(field).map(value => ({ [field.name]: value, [oneof.name]: field.name })),
  );
  return fc.oneof(fc.constant<Message>({}), ...members);
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
