import { join } from 'node:path';
import protobuf from 'protobufjs';
import descriptor from 'protobufjs/google/protobuf/descriptor.json' with { type: 'json' };

/** A definition of a .proto file, except a namespace. */
export type Definition = protobuf.Service | protobuf.Type | protobuf.Enum;

/** The services in use, by the file of this folder that defines them. */
export const services: Readonly<Record<string, readonly string[]>> = {
  'csi.proto': ['Identity', 'Node', 'Controller', 'GroupController', 'SnapshotMetadata'].map(
    name => `csi.v1.${name}`,
  ),
  'pluginregistration.proto': ['pluginregistration.Registration'],
};

/**
 * Reads a .proto file of this folder, with the names as they are there, and resolves only the definitions that the
 * services need, so that no program carries messages it never sends. By default it takes all services in use.
 */
export function readProto(
  file: string,
  names: readonly string[] = services[file] ?? [],
): { readonly root: protobuf.Root; readonly needed: readonly Definition[] } {
  // protobufjs ships this file as JSON and registers it only on request.
  protobuf.common('descriptor', descriptor.nested.google.nested.protobuf.nested);
  const root = new protobuf.Root();
  root.loadSync(join(import.meta.dirname, file), { keepCase: true, alternateCommentMode: true });
  root.resolveAll();
  const needed = new Set<Definition>();
  const need = (definition: Definition): void => {
    if (needed.has(definition)) return;
    needed.add(definition);
    referencesOf(definition).forEach(need);
  };
  for (const name of names) need(root.lookupService(name));
  return { root, needed: [...needed] };
}

function referencesOf(definition: Definition): readonly Definition[] {
  if (definition instanceof protobuf.Enum) return [];
  const found =
    definition instanceof protobuf.Service
      ? definition.methodsArray.flatMap(method => [method.resolvedRequestType, method.resolvedResponseType])
      : definition.fieldsArray.map(field => field.resolvedType);
  return found.filter(type => type !== null);
}
