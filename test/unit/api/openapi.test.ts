import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as z from 'zod';
import { clusterOf, idPattern } from '../../../src/api/ids.ts';
import { openApiDocument, vendorDocument, type OpenApiNode } from '../../../src/api/http/openapi.ts';
import { allOperations, vendorOperations } from '../../../src/api/operations.ts';
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

test('the document is valid OpenAPI 3.1', () => {
  assert.match(document.openapi, /^3\.1\.\d$/);
  assert.equal(document.info['version'], '1.2.3');
  assert.ok(document.info['title']);
  assert.deepEqual(JSON.parse(JSON.stringify(document)), document);
});

test('every reference resolves, and every component is used', () => {
  const named = new Set<string>();
  for (const { key, value } of walk(document)) if (key === '$ref') named.add(String(value));
  for (const $ref of named) assert.ok(resolve({ $ref }), $ref);
  const there = ['schemas', 'responses'].flatMap(kind =>
    Object.keys(document.components[kind] ?? {}).map(name => `#/components/${kind}/${name}`),
  );
  const unused = there.filter(name => !named.has(name));
  // No operation gives these answers itself, but any may have them: from a proxy, or when the caller disconnects.
  assert.deepEqual(unused.toSorted(), rarelyAnswered());
});

test("a vendor's document has the operations that vendors serve, with their schemas", () => {
  const vendor = vendorDocument('1.2.3') as typeof document;
  const served = Object.values(vendor.paths).flatMap(item =>
    Object.entries(item).flatMap(([key, { operationId }]) => (methods.has(key) ? [operationId] : [])),
  );
  assert.deepEqual(served.toSorted(), vendorOperations.map(({ id }) => id).toSorted());
  const named = new Set<string>();
  for (const { key, value } of walk(vendor)) if (key === '$ref') named.add(String(value));
  const schemas = Object.keys(vendor.components['schemas'] ?? {});
  const ofSchemas = [...named].filter(name => name.startsWith('#/components/schemas/'));
  assert.deepEqual(ofSchemas.toSorted(), schemas.map(name => `#/components/schemas/${name}`).toSorted());
  for (const name of schemas) assert.deepEqual(vendor.components['schemas']?.[name], schemaOf(name));
});

test('each operation has a unique id, an answer that is no problem, and a description', () => {
  const ids = all.map(({ operation }) => operation['operationId']);
  assert.equal(new Set(ids).size, allOperations.length);
  for (const { operation } of all) {
    const responses = Object.entries(operation['responses'] as Record<string, OpenApiNode>);
    const statuses = responses.map(([status]) => status);
    assert.ok(statuses.some(status => /^2\d\d$/.test(status)));
    assert.ok(statuses.includes('401') && statuses.includes('default'));
    for (const [, response] of responses) assert.ok((resolve(response) ?? response)['description']);
  }
});

test("parameters are the path's, all required, the query's, and the waiting time", () => {
  for (const { path, item, operation } of all) {
    const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => [name, 'path', true]);
    const shared = (item['parameters'] ?? []) as readonly OpenApiNode[];
    assert.deepEqual(
      shared.map(parameter => [parameter['name'], parameter['in'], parameter['required']]),
      named,
    );
    const own = (operation['parameters'] ?? []) as readonly OpenApiNode[];
    const names = own.map(({ name }) => name);
    assert.equal(new Set(names).size, names.length);
    assert.equal(names.includes('Prefer'), Object.hasOwn(operation['responses'] as object, '202'));
  }
});

test('no text of a query has a NUL, as in the gateway', () => {
  const parameters = all.flatMap(
    ({ operation }) => (operation['parameters'] ?? []) as readonly OpenApiNode[],
  );
  const schemas = parameters.filter(one => one['in'] === 'query').map(one => one['schema'] as OpenApiNode);
  const texts = schemas.filter(({ type }) => type === 'string');
  assert.ok(texts.length > 0);
  for (const { enum: values, pattern, description } of texts)
    assert.ok(values ?? !new RegExp(String(pattern ?? '')).test('a\0'), String(description));
});

test('every operation needs a token, and only operations that create or change have a body', () => {
  assert.deepEqual((document as OpenApiNode)['security'], [{ token: [] }]);
  for (const { method, operation } of all) {
    assert.equal(operation['security'], undefined);
    if (operation['requestBody']) assert.ok(method === 'put' || method === 'post');
  }
});

const exported = Object.entries<unknown>({ ...admin, ...nodes, ...snapshots, ...storage, ...volumes }).filter(
  (entry): entry is [string, z.ZodType] => entry[0].endsWith('Schema') && entry[1] instanceof z.ZodType,
);

test('all schemas of the contract are in the document, with the descriptions of their fields', () => {
  const { schemas = {} } = document.components;
  const names = [...exported.map(([, schema]) => schema.meta()?.id), 'Problem'];
  assert.deepEqual(names.toSorted(), Object.keys(schemas).toSorted());
  for (const schema of Object.values(schemas))
    assert.ok(!('$schema' in schema || '$id' in schema || 'id' in schema) && schema['description']);
  assert.partialDeepStrictEqual(schemas, {
    VolumeSpec: { properties: { source: { description: 'Absent: the volume starts empty.' } } },
    Problem: { properties: { code: { enum: Object.keys(problemTable) } } },
  });
});

for (const [name, schema] of exported) {
  test(`the example of ${name} is valid`, () => {
    const { examples = [] } = document.components['schemas']?.[schema.meta()?.id ?? ''] ?? {};
    assert.ok(Array.isArray(examples) && examples.length > 0);
    for (const example of examples) assert.deepEqual(schema.parse(example), example);
  });
}

test('the pattern of ids matches the ids that the gateway accepts', () => {
  const pattern = new RegExp(idPattern);
  const good = ['east.pvc-1', 'e.p', 'east.a.b'];
  for (const id of [...good, 'east', '.a', 'East.a', 'east.', 'east.-a', 'e-.a', 'e.a/b']) {
    assert.equal(pattern.test(id), good.includes(id), id);
    assert.equal(clusterOf(id) !== undefined, good.includes(id), id);
  }
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

function schemaOf(name: string): OpenApiNode | undefined {
  return document.components['schemas']?.[name];
}

function* walk(node: unknown): Generator<{ readonly key: string; readonly value: unknown }> {
  if (typeof node !== 'object' || node === null) return;
  for (const [key, value] of Object.entries(node)) {
    yield { key, value };
    yield* walk(value);
  }
}

/** Returns the target of a reference; undefined if it is no reference. */
function resolve({ $ref }: OpenApiNode): OpenApiNode | undefined {
  if ($ref === undefined) return undefined;
  const [, kind = '', name = ''] = /^#\/components\/(\w+)\/(\w+)$/.exec(String($ref)) ?? [];
  return document.components[kind]?.[name];
}

type Verdict = (value: unknown) => boolean;

/** Validates a value with the part of JSON Schema that the document uses. */
function isValid(schema: OpenApiNode, value: unknown): boolean {
  const rules = resolve(schema) ?? schema;
  return Object.entries(rules).every(
    ([rule, operand]) => keywords[rule]?.(operand as never, rules)(value) ?? true,
  );
}

const isText = (value: unknown): value is string => typeof value === 'string';
const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const keywords: Readonly<Record<string, (operand: never, all: OpenApiNode) => Verdict>> = {
  type: (type: string) => value =>
    ({ string: isText(value), integer: Number.isInteger(value), boolean: typeof value === 'boolean' })[
      type
    ] ?? (type === 'array' ? Array.isArray(value) : isObject(value)),
  enum: (members: readonly unknown[]) => value => members.includes(value),
  const: (one: unknown) => value => value === one,
  oneOf: (ones: readonly OpenApiNode[]) => value => ones.filter(one => isValid(one, value)).length === 1,
  anyOf: (ones: readonly OpenApiNode[]) => value => ones.some(one => isValid(one, value)),
  pattern: (pattern: string) => value => !isText(value) || new RegExp(pattern, 'u').test(value),
  minLength: (min: number) => value => !isText(value) || value.length >= min,
  maxLength: (max: number) => value => !isText(value) || value.length <= max,
  minimum: (min: number) => value => typeof value !== 'number' || value >= min,
  exclusiveMinimum: (min: number) => value => typeof value !== 'number' || value > min,
  maximum: (max: number) => value => typeof value !== 'number' || value <= max,
  minItems: (min: number) => value => !Array.isArray(value) || value.length >= min,
  maxItems: (max: number) => value => !Array.isArray(value) || value.length <= max,
  uniqueItems: () => value =>
    !Array.isArray(value) || new Set(value.map(item => JSON.stringify(item))).size === value.length,
  items: (items: OpenApiNode) => value => !Array.isArray(value) || value.every(item => isValid(items, item)),
  required: (names: readonly string[]) => value => !isObject(value) || names.every(name => name in value),
  propertyNames: (names: OpenApiNode) => value =>
    !isObject(value) || Object.keys(value).every(name => isValid(names, name)),
  properties: (properties: Readonly<Record<string, OpenApiNode>>) => value =>
    !isObject(value) ||
    Object.entries(value).every(([name, member]) => isValid(properties[name] ?? {}, member)),
  additionalProperties:
    (rest: OpenApiNode | false, { properties = {} }) =>
    value =>
      !isObject(value) ||
      Object.entries(value)
        .filter(([name]) => !Object.hasOwn(properties as object, name))
        .every(([, member]) => rest !== false && isValid(rest, member)),
};

const oddText = [
  '',
  'a',
  'a b',
  '\0',
  'a\nb',
  'a\x7F',
  '-',
  'x'.repeat(63),
  'x'.repeat(129),
  'x'.repeat(257),
];
const oddMaps = [{}, { a: 'b' }, { 'a b': 'c' }, { '\0': '' }, { a: '\0' }];
const odd: readonly unknown[] = [...oddText, ...oddMaps, -1, 0, 1, 1.5, 2 ** 53, true, null, []];
/** Yields the value with each of its parts replaced, removed, duplicated or combined with odd values. */
function* variants(value: unknown): Generator<unknown> {
  yield* odd;
  if (Array.isArray(value)) {
    yield [...(value as unknown[]), ...(value as unknown[])];
    yield Array.from({ length: 65 }, () => value[0] as unknown);
    for (const [index, item] of value.entries())
      for (const other of variants(item)) yield value.with(index, other);
  } else if (isObject(value)) {
    yield { ...value, unheardOf: 1 };
    for (const [name, member] of Object.entries(value)) {
      const { [name as keyof typeof value]: _, ...rest } = value;
      yield rest;
      for (const other of variants(member)) yield { ...rest, [name]: other };
    }
  }
}

for (const [name, schema] of exported.filter(([key]) => /Spec|nodeSchema|segments|capability/.test(key)))
  test(`the document accepts and refuses the same values as ${name}`, () => {
    const described = document.components['schemas']?.[schema.meta()?.id ?? ''] ?? {};
    for (const example of described['examples'] as readonly unknown[])
      for (const value of [example, ...variants(example)])
        assert.equal(
          isValid(described, value),
          schema.safeParse(value).success,
          JSON.stringify(value).slice(0, 400),
        );
  });
