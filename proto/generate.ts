// Makes everything in src/csi/generated from the .proto files beside this one.
//   node proto/generate.ts           writes it
//   node proto/generate.ts --check   writes nothing; exits 1 and names the files that are out of date

import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { addCommonProtos, loadProtosWithOptionsSync } from '@grpc/proto-loader/build/src/util.js';
import protobuf from 'protobufjs';

type Files = Map<string, string>;
type Definition = protobuf.Service | protobuf.Type | protobuf.Enum;
type Bundle = { name: string; proto: string; services: readonly string[]; types: boolean };

const sourceDir = import.meta.dirname;
const targetDir = join(sourceDir, '..', 'src', 'csi', 'generated');
const messagesTool = fileURLToPath(import.meta.resolve('protobufjs-cli/bin/pbjs'));
const messagesOptions =
  '--target static-module --wrap es6 --es6 --keep-case --no-create --no-verify --no-delimited --no-typeurl --no-service --no-comments';
const typesTool = fileURLToPath(
  import.meta.resolve('@grpc/proto-loader/build/bin/proto-loader-gen-types.js'),
);
const typesOptions =
  '--keepCase --longs=String --enums=String --defaults --oneofs --includeComments --grpcLib=@grpc/grpc-js --importFileExtension=.ts';

const identityAndNode = ['csi.v1.Identity', 'csi.v1.Node'];
const bundles: readonly Bundle[] = [
  {
    name: 'csi',
    proto: 'csi.proto',
    services: [...identityAndNode, 'csi.v1.Controller', 'csi.v1.GroupController', 'csi.v1.SnapshotMetadata'],
    types: true,
  },
  { name: 'node', proto: 'csi.proto', services: identityAndNode, types: false },
  {
    name: 'pluginregistration',
    proto: 'pluginregistration.proto',
    services: ['pluginregistration.Registration'],
    types: true,
  },
];

const main = () => {
  addCommonProtos(); // google/protobuf/descriptor.proto, which protobufjs does not bring
  const wanted = generate();
  if (!process.argv.includes('--check')) return write(wanted);
  const stale = differences(wanted, read(targetDir));
  if (stale.length === 0) return;
  process.stderr.write(`out of date, run "npm run generate": ${stale.join(', ')}\n`);
  process.exitCode = 1;
};

const generate = (): Files => {
  const files: Files = new Map();
  for (const bundle of bundles) {
    const descriptor = describe(bundle, false);
    files.set(`${bundle.name}.messages.js`, messagesOf(bundle, descriptor));
    files.set(`${bundle.name}.messages.d.ts`, declarationOf(bundle));
    if (!bundle.types) continue;
    for (const [name, text] of typesOf(bundle.proto, describe(bundle, true))) files.set(name, text);
  }
  return files;
};

/** Code that reads and writes the messages, and a table of the services: at run time nothing is parsed or made up. */
const messagesOf = ({ name, proto, services }: Bundle, descriptor: protobuf.INamespace): string => {
  const code = inWorkDirectory(work => {
    const input = join(work, 'input.json');
    const output = join(work, 'messages.js');
    writeFileSync(input, JSON.stringify(descriptor));
    const argv = [...messagesOptions.split(' '), '--root', name, '-o', output, input];
    execFileSync(process.execPath, [messagesTool, ...argv]);
    return readFileSync(output, 'utf8');
  });
  // protobufjs is CommonJS, which Node gives as a default import.
  const loadable = code
    .replace(
      'import * as $protobuf from "protobufjs/minimal";',
      'import $protobuf from "protobufjs/minimal.js";',
    )
    .replaceAll(/^ +/gm, '');
  const root = protobuf.Root.fromJSON(descriptor);
  const table = Object.fromEntries(
    services.map(service => [service, methodsOf(root.lookupService(service))]),
  );
  return `// Generated from proto/${proto}. Do not edit.\n${loadable}\nexport const services = ${JSON.stringify(table, null, 1)};\n`;
};

const methodsOf = (service: protobuf.Service) =>
  service.methodsArray.map(method => {
    method.resolve();
    const { name, requestStream = false, responseStream = false } = method;
    const request = method.resolvedRequestType?.fullName.slice(1);
    const answer = method.resolvedResponseType?.fullName.slice(1);
    return { name, request, answer, requestStream, responseStream };
  });

const declarationOf = ({ proto }: Bundle): string =>
  `// Generated from proto/${proto}. Do not edit.

import type { Namespace, Services } from '../codec.ts';

declare const root: Namespace;
export default root;
export const services: Services;
`;

/** What the services need and nothing else, so that no program carries Google's own description of protobuf. */
const describe = ({ proto, services }: Bundle, keepComments: boolean): protobuf.INamespace => {
  const root = loadProtosWithOptionsSync(join(sourceDir, proto), {
    keepCase: true,
    alternateCommentMode: true,
  });
  const kept = new Set<Definition>();
  for (const service of services) keep(root.lookupService(service), kept);
  return prune(root, kept, keepComments);
};

const keep = (definition: Definition, kept: Set<Definition>): void => {
  if (definition.parent instanceof protobuf.Type) return keep(definition.parent, kept);
  if (kept.has(definition)) return;
  kept.add(definition);
  for (const needed of references(definition)) keep(needed, kept);
};

const references = (definition: protobuf.ReflectionObject): Definition[] => {
  if (definition instanceof protobuf.Service) {
    return definition.methodsArray.flatMap(method =>
      present(method.resolvedRequestType, method.resolvedResponseType),
    );
  }
  if (!(definition instanceof protobuf.Type)) return [];
  const own = definition.fieldsArray.flatMap(field => present(field.resolvedType));
  return [...own, ...definition.nestedArray.flatMap(references)];
};

const present = (...definitions: (Definition | null)[]) =>
  definitions.filter(definition => definition !== null);

const prune = (
  space: protobuf.NamespaceBase,
  kept: Set<Definition>,
  keepComments: boolean,
): protobuf.INamespace => {
  const nested: Record<string, protobuf.AnyNestedObject> = {};
  for (const object of space.nestedArray) {
    if (isDefinition(object)) {
      if (kept.has(object)) nested[object.name] = toJson(object, keepComments);
    } else if (object instanceof protobuf.Namespace && hasKept(object, kept)) {
      nested[object.name] = prune(object, kept, keepComments);
    }
  }
  return { nested };
};

/** The types of protobufjs ask every method for a comment; with an empty one the imported JSON fits them without a cast. */
const toJson = (definition: Definition, keepComments: boolean) => {
  const json = definition.toJSON({ keepComments });
  if ('methods' in json) for (const method of Object.values(json.methods)) method.comment ??= '';
  return json;
};

const isDefinition = (object: protobuf.ReflectionObject): object is Definition =>
  object instanceof protobuf.Service || object instanceof protobuf.Type || object instanceof protobuf.Enum;

const hasKept = (space: protobuf.Namespace, kept: Set<Definition>) =>
  [...kept].some(definition => definition.fullName.startsWith(`${space.fullName}.`));

/** TypeScript for a descriptor. The tool reads JSON as well as proto source, and takes the root file's name from the input's. */
const typesOf = (proto: string, descriptor: protobuf.INamespace): Files =>
  inWorkDirectory(work => {
    const input = join(work, proto);
    const output = join(work, 'types');
    writeFileSync(input, JSON.stringify(descriptor));
    execFileSync(process.execPath, [typesTool, ...typesOptions.split(' '), '-O', output, '--', input]);
    const header = `// Generated from proto/${proto}. Do not edit.\n\n`;
    const clean = (text: string) => header + text.replaceAll('// Original file: null\n\n', '');
    return new Map(Array.from(read(output), ([name, text]) => [name, clean(text)]));
  });

const inWorkDirectory = <T>(work: (directory: string) => T): T => {
  const directory = mkdtempSync(join(tmpdir(), 'fairlead-generate-'));
  try {
    return work(directory);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
};

const write = (files: Files) => {
  rmSync(targetDir, { recursive: true, force: true });
  for (const [name, text] of files) {
    mkdirSync(dirname(join(targetDir, name)), { recursive: true });
    writeFileSync(join(targetDir, name), text);
  }
};

const read = (dir: string): Files => {
  const entries = readdirSync(dir, { recursive: true, withFileTypes: true }).filter(entry => entry.isFile());
  const paths = entries.map(entry => join(entry.parentPath, entry.name)).sort();
  return new Map(paths.map(path => [path.slice(dir.length + 1), readFileSync(path, 'utf8')]));
};

const differences = (wanted: Files, found: Files) =>
  [...new Set([...wanted.keys(), ...found.keys()])]
    .filter(name => wanted.get(name) !== found.get(name))
    .sort();

main();
