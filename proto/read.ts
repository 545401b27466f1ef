import { join } from 'node:path';
import protobuf from 'protobufjs';
import descriptor from 'protobufjs/google/protobuf/descriptor.json' with { type: 'json' };

/** What a .proto file defines, other than its namespaces. */
export type Definition = protobuf.Service | protobuf.Type | protobuf.Enum;

/** The services that are spoken, by the files of this folder that define them. */
export const services: Readonly<Record<string, readonly string[]>> = {
  'csi.proto': ['Identity', 'Node', 'Controller', 'GroupController', 'SnapshotMetadata'].map(
    name => `csi.v1.${name}`,
  ),
  'pluginregistration.proto': ['pluginregistration.Registration'],
};

/**
 * Reads a .proto file of this folder, with the names as they are there, and finds what services of it need, so that no
 * program carries what it never sends. They are all that are spoken unless some are named.
 */
export function readProto(
  file: string,
  names: readonly string[] = services[file] ?? [],
): { readonly root: protobuf.Root; readonly needed: readonly Definition[] } {
  // protobufjs brings this one as JSON, and takes it only when it is told.
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
