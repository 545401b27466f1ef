import protobuf from 'protobufjs';
import { readProto } from '../../proto/read.ts';

type Description = Record<string, unknown>;
type Table = Record<string, Description>;
type Tables = { messages: Table; enums: Table; services: Table; extensions: Table };

/** Reads everything that two sides of a protocol must agree on, in the format that wire/main.go prints. */
export const normalForm = (protoFile: string, packageName: string): Description => {
  const { root } = readProto(protoFile);
  const tables: Tables = { messages: {}, enums: {}, services: {}, extensions: {} };
  const space = root.lookup(packageName);
  if (!(space instanceof protobuf.Namespace)) throw new Error(`no package ${packageName} in "${protoFile}"`);
  for (const object of space.nestedArray) add(tables, object, packageName);
  return { options: options(space.options, packageName), ...tables };
};

const add = (tables: Tables, object: protobuf.ReflectionObject, packageName: string): void => {
  const name = nameOf(object);
  if (object instanceof protobuf.Type) {
    tables.messages[name] = message(object, packageName);
    for (const nested of object.nestedArray) add(tables, nested, packageName);
  } else if (object instanceof protobuf.Enum) tables.enums[name] = enumeration(object, packageName);
  else if (object instanceof protobuf.Service) tables.services[name] = service(object, packageName);
  else if (object instanceof protobuf.Field) {
    tables.extensions[name] = { ...field(object, packageName), extends: object.extend };
  } else throw new Error(`do not know what ${name} is`);
};

const message = (type: protobuf.Type, packageName: string): Description => ({
  options: options(type.options, packageName),
  fields: Object.fromEntries(type.fieldsArray.map(each => [each.name, field(each, packageName)])),
  ...reserved(type.reserved),
});

const field = (each: protobuf.Field, packageName: string): Description => {
  const map = each instanceof protobuf.MapField ? each : undefined;
  return {
    number: each.id,
    label: map ? 'map' : each.repeated ? 'repeated' : 'single',
    presence: hasPresence(each),
    type: typeOf(each),
    options: options(each.options, packageName),
    ...(map && { key: map.keyType }),
    ...(each.partOf && { oneof: each.partOf.name }),
  };
};

/** Returns true for fields with presence; protobufjs does not record that a single message always has it. */
const hasPresence = (each: protobuf.Field) => {
  if (each.repeated || each.map) return false;
  return each.resolvedType instanceof protobuf.Type || Boolean(each.hasPresence);
};

const typeOf = ({ resolvedType, type }: protobuf.Field) => {
  if (resolvedType === null) return type;
  return `${resolvedType instanceof protobuf.Enum ? 'enum' : 'message'} ${nameOf(resolvedType)}`;
};

const enumeration = (type: protobuf.Enum, packageName: string): Description => ({
  options: options(type.options, packageName),
  values: Object.fromEntries(
    Object.entries(type.values).map(([name, number]) => [
      name,
      { number, options: options(type.valuesOptions?.[name], packageName) },
    ]),
  ),
  ...reserved(type.reserved),
});

const service = (type: protobuf.Service, packageName: string): Description => ({
  options: options(type.options, packageName),
  methods: Object.fromEntries(type.methodsArray.map(each => [each.name, method(each, packageName)])),
});

const method = (each: protobuf.Method, packageName: string): Description => ({
  input: each.resolvedRequestType && nameOf(each.resolvedRequestType),
  output: each.resolvedResponseType && nameOf(each.resolvedResponseType),
  requestStream: each.requestStream === true,
  responseStream: each.responseStream === true,
  options: options(each.options, packageName),
});

/** Names options: "(csi_secret)" becomes "csi.v1.csi_secret"; protobuf's own options keep their names. */
const options = (set: Record<string, unknown> | undefined, packageName: string): Description =>
  Object.fromEntries(
    Object.entries(set ?? {}).map(([name, value]) => [
      name.replace(/^\((.+)\)$/, `${packageName}.$1`),
      value,
    ]),
  );

const reserved = (all: (number[] | string)[] | undefined): Description => ({
  reserved: (all ?? []).filter(each => typeof each !== 'string'),
  reservedNames: (all ?? []).filter(each => typeof each === 'string'),
});

const nameOf = (object: protobuf.ReflectionObject) => object.fullName.slice(1);
