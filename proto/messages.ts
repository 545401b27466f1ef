// Makes src/csi/generated/*.messages.js from the .proto files beside this one: the code that reads and writes messages,
// and a table of the services, so that nothing is parsed at run time. `npm ci` runs it without development packages.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import protobuf from 'protobufjs';
import { readProto, services, type Definition } from './read.ts';

type Bundle = { readonly proto: string; readonly services: readonly string[] };

/** The bundle of each program; the node agent leaves out services that only the controller uses. */
const bundles: Readonly<Record<string, Bundle>> = {
  csi: bundle('csi.proto'),
  node: bundle('csi.proto', ['csi.v1.Identity', 'csi.v1.Node']),
  pluginregistration: bundle('pluginregistration.proto'),
};

const target = join(import.meta.dirname, '../src/csi/generated');
mkdirSync(target, { recursive: true });
for (const [name, content] of Object.entries(bundles))
  writeFileSync(join(target, `${name}.messages.js`), moduleOf(content));

function bundle(proto: string, names = services[proto] ?? []): Bundle {
  return { proto, services: names };
}

function moduleOf({ proto, services: names }: Bundle): string {
  const { root, needed } = readProto(proto, names);
  const types = needed.filter(definition => definition instanceof protobuf.Type);
  const entries = types.map(type => `  ${JSON.stringify(nameOf(type))}: {},`);
  const table = Object.fromEntries(names.map(name => [name, methodsOf(root.lookupService(name))]));
  return `// Generated from proto/${proto}. Do not edit.
import protobuf from 'protobufjs/minimal.js';
const { Reader, Writer, util } = protobuf;
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
/**
 * Decodes a text. Invalid UTF-8 is an error (protobufjs would replace or cut it), and so is a NUL, which no name and no
 * path contains.
 */
const textOf = r => {
  const text = utf8.decode(r.bytes());
  if (text.includes('\\0')) throw new Error('text has a NUL');
  return text;
};
/** The messages by their full names. */
const messages = {
${entries.join('\n')}
};
export default messages;
export const services = ${JSON.stringify(table, null, 1)};
${types.map(codeOf).join('')}`;
}

/**
 * Generates the functions that protobufjs would compile at a message's first use. They refer to their message as
 * `this`.
 */
function codeOf(type: protobuf.Type): string {
  const { converter, encoder, decoder } = protobuf;
  const functions = {
    ctor: protobuf.Type.generateConstructor(type),
    encode: encoder(type),
    decode: decoder(type),
    fromObject: converter.fromObject(type),
    toObject: converter.toObject(type),
  };
  const lines = Object.entries(functions).map(
    ([name, code]) => `  ${name}: ${code.toString().replaceAll('r.string()', 'textOf(r)')},`,
  );
  return `{
const types = [${type.fieldsArray.map(field => referenceTo(field.resolvedType)).join(', ')}];
Object.assign(messages[${JSON.stringify(nameOf(type))}], {
${lines.join('\n')}
});
}
`;
}

/** Generates the reference that a field's code finds at the field's index: a message, or an enum's names by number. */
function referenceTo(definition: protobuf.Type | protobuf.Enum | null): string {
  if (definition === null) return 'null';
  if (definition instanceof protobuf.Enum) return `{ values: ${JSON.stringify(definition.valuesById)} }`;
  return `messages[${JSON.stringify(nameOf(definition))}]`;
}

function methodsOf(service: protobuf.Service) {
  return service.methodsArray.map(method => {
    const { name, requestStream = false, responseStream = false } = method;
    const request = nameOf(method.resolvedRequestType);
    const answer = nameOf(method.resolvedResponseType);
    return { name, request, answer, requestStream, responseStream };
  });
}

function nameOf(definition: Definition | null): string {
  return definition?.fullName.slice(1) ?? '';
}
