import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { clusterOf, idPattern } from '../../../src/api/ids.ts';
import { openApiDocument, type OpenApiNode } from '../../../src/api/openapi.ts';
import { allOperations } from '../../../src/api/operations.ts';
import { problemTable } from '../../../src/api/problem.ts';
import * as admin from '../../../src/api/admin.ts';
import * as nodes from '../../../src/api/node.ts';
import * as snapshots from '../../../src/api/snapshot.ts';
import * as storage from '../../../src/api/storage.ts';
import * as volumes from '../../../src/api/volume.ts';

const document = openApiDocument('1.2.3') as {
  readonly openapi: string;
  readonly info: OpenApiNode;
  readonly paths: Readonly<Record<string, Readonly<Record<string, OpenApiNode>>>>;
  readonly components: Readonly<Record<string, Readonly<Record<string, OpenApiNode>>>>;
};
const methods = new Set(['get', 'put', 'post', 'delete']);
const all = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.entries(item)
    .filter(([key]) => methods.has(key))
    .map(([method, operation]) => ({ path, item, method, operation })),
);

test('the document is OpenAPI 3.1 with what that requires', () => {
  assert.match(document.openapi, /^3\.1\.\d$/);
  assert.equal(document.info['version'], '1.2.3');
  assert.ok(document.info['title']);
  assert.deepEqual(JSON.parse(JSON.stringify(document)), document);
});

test('every reference resolves, and every component is referred to', () => {
  const named = new Set<string>();
  for (const { key, value } of walk(document)) if (key === '$ref') named.add(String(value));
  for (const reference of named) assert.ok(resolve(reference), reference);
  const there = ['schemas', 'responses'].flatMap(kind =>
    Object.keys(document.components[kind] ?? {}).map(name => `#/components/${kind}/${name}`),
  );
  const unused = there.filter(name => !named.has(name));
  // No operation is answered so on its own account, but any may be: by a proxy, or when the caller goes away.
  assert.deepEqual(unused.toSorted(), rarelyAnswered());
});

test('what the schemas tell of their fields is in the document', () => {
  const { VolumeSpec, Node } = document.components['schemas'] ?? {};
  const fields = VolumeSpec?.['properties'] as Record<string, OpenApiNode>;
  assert.match(String(fields['requiredBytes']?.['description']), /^Least size/);
  assert.equal(fields['source']?.['$ref'], '#/components/schemas/VolumeSource');
  assert.ok(VolumeSpec?.['description'] && VolumeSpec['examples'] && Node?.['examples']);
});

test('no schema keeps what is only for a document of its own', () => {
  for (const schema of Object.values(document.components['schemas'] ?? {}))
    assert.deepEqual(
      Object.keys(schema).filter(key => ['$schema', '$id', 'id'].includes(key)),
      [],
    );
});

test('operations have ids of their own and at least one answer that is no problem', () => {
  const ids = all.map(({ operation }) => operation['operationId']);
  assert.equal(new Set(ids).size, allOperations.length);
  for (const { operation } of all) {
    const statuses = Object.keys(operation['responses'] as object);
    assert.ok(statuses.some(status => /^2\d\d$/.test(status)));
    assert.ok(statuses.includes('401') && statuses.includes('default'));
    for (const status of statuses) assert.match(status, /^([2-5]\d\d|default)$/);
  }
});

test('every response has a description', () => {
  for (const { operation } of all)
    for (const response of Object.values(operation['responses'] as Record<string, OpenApiNode>)) {
      const found = response['$ref'] === undefined ? response : resolve(String(response['$ref']));
      assert.ok(found?.['description']);
    }
});

test('what a path names in braces are its parameters, all required', () => {
  for (const [path, item] of Object.entries(document.paths)) {
    const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    const parameters = (item['parameters'] ?? []) as unknown as readonly OpenApiNode[];
    assert.deepEqual(
      parameters.map(({ name, in: place, required }) => [name, place, required]),
      named.map(name => [name, 'path', true]),
    );
  }
});

test('no parameter is given twice, and only what is made or changed has a body', () => {
  for (const { method, operation } of all) {
    const parameters = (operation['parameters'] ?? []) as readonly OpenApiNode[];
    const names = parameters.map(({ name, in: place }) => `${String(place)} ${String(name)}`);
    assert.equal(new Set(names).size, names.length);
    if (operation['requestBody']) assert.ok(method === 'put' || method === 'post');
  }
});

test('what may answer 202 takes a Prefer header', () => {
  for (const { operation } of all) {
    const names = ((operation['parameters'] ?? []) as readonly OpenApiNode[]).map(({ name }) => name);
    assert.equal(names.includes('Prefer'), Object.hasOwn(operation['responses'] as object, '202'));
  }
});

test('every operation needs a token but for what is said otherwise, which nothing is', () => {
  assert.deepEqual((document as OpenApiNode)['security'], [{ token: [] }]);
  for (const { operation } of all) assert.equal(operation['security'], undefined);
  assert.equal(document.components['securitySchemes']?.['token']?.['scheme'], 'bearer');
});

const exported = Object.entries<unknown>({ ...admin, ...nodes, ...snapshots, ...storage, ...volumes }).filter(
  (entry): entry is [string, z.ZodType] => entry[0].endsWith('Schema') && entry[1] instanceof z.ZodType,
);

test('all schemas of the contract are in the document', () => {
  const names = Object.keys(document.components['schemas'] ?? {});
  assert.deepEqual(
    [...exported.map(([, schema]) => schema.meta()?.id), 'Problem'].toSorted(),
    names.toSorted(),
  );
  const problem = document.components['schemas']?.['Problem']?.['properties'] as Record<string, OpenApiNode>;
  assert.deepEqual(problem['code']?.['enum'], Object.keys(problemTable));
});

for (const [name, schema] of exported) {
  test(`the example of ${name} is one`, () => {
    const { examples = [] } = document.components['schemas']?.[schema.meta()?.id ?? ''] ?? {};
    assert.ok(Array.isArray(examples) && examples.length > 0);
    for (const example of examples) assert.deepEqual(schema.parse(example), example);
  });
}

test('the pattern of ids is that of the ids that the gateway takes', () => {
  const pattern = new RegExp(idPattern);
  for (const id of [
    'east.pvc-1',
    'e.p',
    'east.a.b',
    'east',
    '.a',
    'East.a',
    'east.',
    'east.-a',
    'e-.a',
    'e.a/b',
  ])
    assert.equal(pattern.test(id), clusterOf(id) !== undefined, id);
});

function rarelyAnswered(): readonly string[] {
  const used = new Set(
    all.flatMap(({ operation }) => Object.keys(operation['responses'] as object).map(Number)),
  );
  const statuses = new Set(Object.values(problemTable).map(({ http }) => http));
  return [...statuses]
    .filter(status => !used.has(status))
    .map(status => `#/components/responses/Problem${status}`)
    .toSorted();
}

function* walk(node: unknown): Generator<{ readonly key: string; readonly value: unknown }> {
  if (typeof node !== 'object' || node === null) return;
  for (const [key, value] of Object.entries(node)) {
    yield { key, value };
    yield* walk(value);
  }
}

function resolve(reference: string): OpenApiNode | undefined {
  const [root, ...steps] = reference.split('/');
  assert.equal(root, '#');
  return steps.reduce<unknown>((node, step) => (node as OpenApiNode | undefined)?.[step], document) as
    | OpenApiNode
    | undefined;
}
