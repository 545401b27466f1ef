import { execFileSync } from 'node:child_process';
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { parse } from 'yaml';
import { buildTools, go, whyNotBuildable } from './go.ts';
import { serviceDefinition } from '../kubernetes/scenarios/changed-blocks/definition.ts';
import { sample } from '../harness/sample.ts';
import { makeTemporaryDirectory, removeTemporaryDirectory } from '../harness/machine.ts';

type Schema = { properties?: object; additionalProperties?: unknown; format?: string; type?: unknown };
type Kind = { readonly group: string; readonly version: string; readonly kind: string };
type Definition = Schema & { readonly 'x-kubernetes-group-version-kind'?: readonly Kind[] };
type Crd = {
  readonly spec: {
    readonly group: string;
    readonly names: { readonly kind: string };
    readonly versions: readonly {
      readonly name: string;
      readonly schema: { readonly openAPIV3Schema: Schema };
    }[];
  };
};

/** The versions of Kubernetes whose schemas the manifests must match, each of a minor version that the chart supports. */
const versions = sample('versions', ['1.34.4', '1.35.4', '1.36.3', '1.37.2'], 1);
/** The modules with the definitions of other kinds, and the paths of these in them. */
const definitions = {
  'github.com/kubernetes-csi/external-snapshotter/client/v8@v8.7.0': 'config/crd/*storage.k8s.io*.yaml',
  'sigs.k8s.io/gateway-api@v1.4.0': 'config/crd/standard/*httproutes.yaml',
};

const module = join(import.meta.dirname, 'kubeconform');
const directory = makeTemporaryDirectory();
const files = globSync('deploy/{snapshots,examples}/*.yaml').filter(name => !name.endsWith('values.yaml'));
const folders = new Map(
  [...versions.map(version => `k8s.io/kubernetes@v${version}`), ...Object.keys(definitions)].map(name => [
    name,
    fetch(name),
  ]),
);
const skip =
  whyNotBuildable(module) ??
  ([...folders.values()].every(Boolean) ? false : 'the schemas of Kubernetes cannot be fetched');

before(() => {
  if (skip !== false) return;
  buildTools(module, directory);
  for (const [name, path] of Object.entries(definitions))
    for (const file of globSync(join(folders.get(name) ?? '', path)))
      writeCrd(parse(readFileSync(file, 'utf8')) as Crd);
  // The Go proxy does not have the module of this one.
  writeCrd(serviceDefinition);
});
after(() => removeTemporaryDirectory(directory));

for (const version of versions)
  test(`Kubernetes ${version} knows all fields of the manifests and the examples`, { skip }, () => {
    writeKubernetes(version);
    const schemas = ['others', version].map(folder =>
      join(directory, folder, '{{.ResourceKind}}{{.KindSuffix}}.json'),
    );
    // The Prometheus operator's schemas are not available.
    const flags = ['-strict', '-skip', 'ServiceMonitor,PrometheusRule'];
    const locations = schemas.flatMap(schema => ['-schema-location', schema]);
    execFileSync(join(directory, 'kubeconform'), [...flags, ...locations, ...files], { stdio: 'inherit' });
  });

/** Returns the directory of a module of the Go proxy; undefined if it cannot be downloaded. */
function fetch(name: string): string | undefined {
  const { status, stdout } = go(directory, 'mod', 'download', '-json', name);
  return status === 0 ? (JSON.parse(stdout) as { readonly Dir: string }).Dir : undefined;
}

function writeKubernetes(version: string): void {
  const folder = folders.get(`k8s.io/kubernetes@v${version}`) ?? '';
  const text = readFileSync(join(folder, 'api/openapi-spec/swagger.json'), 'utf8');
  const { definitions: all } = JSON.parse(text) as {
    readonly definitions: Readonly<Record<string, Definition>>;
  };
  for (const definition of Object.values(all)) close(definition);
  writeSchema(version, 'definitions', { definitions: all });
  for (const [name, definition] of Object.entries(all))
    for (const kind of definition['x-kubernetes-group-version-kind'] ?? [])
      writeSchema(version, fileOf(kind), { $ref: `definitions.json#/definitions/${name}` });
}

function writeCrd({ spec }: Crd): void {
  const { group, names } = spec;
  for (const { name: version, schema } of spec.versions)
    writeSchema('others', fileOf({ group, version, kind: names.kind }), closeAll(schema.openAPIV3Schema));
}

/** Names a schema's file as kubeconform looks for it: the kind, the first part of the group, the version. */
function fileOf({ kind, group, version }: Kind): string {
  return [kind, group.split('.')[0], version].filter(Boolean).join('-').toLowerCase();
}

function writeSchema(folder: string, name: string, schema: object): void {
  mkdirSync(join(directory, folder), { recursive: true });
  writeFileSync(join(directory, folder, `${name}.json`), JSON.stringify(schema));
}

/** Forbids unknown fields, which the API server would drop silently. */
function close(schema: Schema): void {
  if (schema.properties) schema.additionalProperties ??= false;
  if (schema.format === 'int-or-string') schema.type = ['string', 'integer'];
}

/** Closes a schema and everything below it, except an object's metadata, which a CRD leaves to the API server. */
function closeAll(schema: Schema): Schema {
  const properties = Object.entries(schema.properties ?? {}) as [string, Schema][];
  for (const [name, property] of properties) if (name !== 'metadata') closeAll(property);
  close(schema);
  return schema;
}
