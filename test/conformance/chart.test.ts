import { execFileSync } from 'node:child_process';
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { parse } from 'yaml';
import { buildTools, go, whyNotBuildable } from './go.ts';
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

/** The modules whose schemas the manifests must match. */
const kubernetes = 'k8s.io/kubernetes@v1.36.3';
const snapshots = 'github.com/kubernetes-csi/external-snapshotter/client/v8@v8.7.0';

const module = join(import.meta.dirname, 'kubeconform');
const directory = makeTemporaryDirectory();
const folders = [kubernetes, snapshots].map(fetch);
const skip =
  whyNotBuildable(module) ?? (folders.every(Boolean) ? false : 'the schemas of Kubernetes cannot be fetched');

before(() => {
  if (skip !== false) return;
  buildTools(module, directory);
  writeKubernetes(folders[0] ?? '');
  for (const file of globSync(`${folders[1]}/config/crd/*storage.k8s.io*.yaml`)) writeCrd(file);
});
after(() => removeTemporaryDirectory(directory));

for (const file of globSync('deploy/{snapshots,examples}/*.yaml').filter(
  name => !name.endsWith('values.yaml'),
))
  test(`${file} has only fields that Kubernetes knows`, { skip }, () => {
    const schemas = join(directory, 'schemas/{{.ResourceKind}}{{.KindSuffix}}.json');
    // The Prometheus operator's schemas are not available.
    const flags = ['-strict', '-skip', 'ServiceMonitor,PrometheusRule', '-schema-location', schemas];
    execFileSync(join(directory, 'kubeconform'), [...flags, file], { stdio: 'inherit' });
  });

/** Returns the directory of a module of the Go proxy; undefined if it cannot be downloaded. */
function fetch(name: string): string | undefined {
  const { status, stdout } = go(directory, 'mod', 'download', '-json', name);
  return status === 0 ? (JSON.parse(stdout) as { readonly Dir: string }).Dir : undefined;
}

function writeKubernetes(folder: string): void {
  const text = readFileSync(join(folder, 'api/openapi-spec/swagger.json'), 'utf8');
  const { definitions } = JSON.parse(text) as { readonly definitions: Readonly<Record<string, Definition>> };
  for (const definition of Object.values(definitions)) close(definition);
  writeSchema('definitions', { definitions });
  for (const [name, definition] of Object.entries(definitions))
    for (const kind of definition['x-kubernetes-group-version-kind'] ?? [])
      writeSchema(fileOf(kind), { $ref: `definitions.json#/definitions/${name}` });
}

function writeCrd(file: string): void {
  const { spec } = parse(readFileSync(file, 'utf8')) as Crd;
  const { group, names } = spec;
  for (const { name: version, schema } of spec.versions)
    writeSchema(fileOf({ group, version, kind: names.kind }), closeAll(schema.openAPIV3Schema));
}

/** Names a schema's file as kubeconform looks for it: the kind, the first part of the group, the version. */
function fileOf({ kind, group, version }: Kind): string {
  return [kind, group.split('.')[0], version].filter(Boolean).join('-').toLowerCase();
}

function writeSchema(name: string, schema: object): void {
  mkdirSync(join(directory, 'schemas'), { recursive: true });
  writeFileSync(join(directory, 'schemas', `${name}.json`), JSON.stringify(schema));
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
