import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { maxFaults, maxSchemaBytes, readParameterSchema } from '../../../../src/api/schemas/parameters.ts';

type Schema = Readonly<Record<string, unknown>>;

/** A schema, valid parameters, and invalid parameters with their errors. */
const rows: readonly (readonly [
  schema: Schema,
  allowed: readonly Record<string, string>[],
  refused: readonly (readonly [Record<string, string>, readonly string[]])[],
])[] = [
  [{}, [{}, { any: 'thing' }], []],
  [{ type: 'object', additionalProperties: false }, [{}], [[{ a: 'x' }, ['a: is not known']]]],
  [
    { properties: { tier: { enum: ['a', 'b'] } }, required: ['tier'], additionalProperties: false },
    [{ tier: 'a' }],
    [
      [{}, ['tier: is missing']],
      [{ tier: 'c', colour: 'red' }, ['tier: is not one of a, b', 'colour: is not known']],
    ],
  ],
  [
    { additionalProperties: { type: 'string', minLength: 2, maxLength: 3 } },
    [{ a: 'éé', b: '🙂🙂🙂' }],
    [[{ a: 'é', b: '🙂🙂🙂🙂' }, ['a: is shorter than 2 characters', 'b: is longer than 3 characters']]],
  ],
  [{ properties: { a: { const: 'x' } } }, [{ a: 'x' }], [[{ a: 'y' }, ['a: is not "x"']]]],
  [{ properties: { a: { type: ['null', 'string'] }, b: true } }, [{ a: '', b: '' }], []],
  [
    { properties: { a: { type: 'integer' }, b: false } },
    [{}],
    [[{ a: '1', b: '' }, ['a: cannot be text', 'b: is not known']]],
  ],
  [
    { minProperties: 1, maxProperties: 2 },
    [{ a: '' }, { a: '', b: '' }],
    [
      [{}, [': has less than 1 parameters']],
      [{ a: '', b: '', c: '' }, [': has more than 2 parameters']],
    ],
  ],
  // Keywords for numbers and lists do not apply to text.
  [{ properties: { a: { minimum: 5, items: false, minItems: 2 } } }, [{ a: '1' }], []],
  [{ properties: JSON.parse('{"__proto__":{"const":"x"}}') as Schema }, [{ constructor: 'y' }], []],
];

for (const [schema, allowed, refused] of rows)
  test(`the schema ${JSON.stringify(schema).slice(0, 80)} accepts and refuses parameters`, () => {
    const { findFaults, ignored } = readParameterSchema(schema);
    assert.deepEqual(ignored, []);
    for (const parameters of allowed) assert.deepEqual(findFaults(parameters), []);
    for (const [parameters, faults] of refused)
      assert.deepEqual(
        findFaults(parameters).map(({ path, message }) => `${path.join('.')}: ${message}`),
        faults,
      );
  });

const wrong: Readonly<Record<string, unknown>> = {
  'no object': [],
  'a boolean': true,
  'an unknown type': { type: 'objekt' },
  'another type than object': { type: 'string' },
  'a type that is no word': { type: 1 },
  'properties that are a list': { properties: [] },
  'a property that is text': { properties: { a: 'string' } },
  'an enum that is text': { properties: { a: { enum: 'a' } } },
  'required that has a number': { required: [1] },
  'a negative length': { properties: { a: { maxLength: -1 } } },
  'a length that is text': { properties: { a: { minLength: '1' } } },
  'more bytes than it may have': { description: 'x'.repeat(maxSchemaBytes) },
};

for (const [what, schema] of Object.entries(wrong))
  test(`a schema of parameters that is, or has, ${what} is refused`, () => {
    assert.throws(() => readParameterSchema(schema), /^Error: /);
  });

test("keywords that would have to be evaluated are dropped and named, and the document's texts are printable", () => {
  const schema = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $id: 'x',
    title: '\u001B[31mred',
    propertyNames: { type: 'string' },
    properties: { a: { pattern: '^(a+)+$', description: 'x'.repeat(10_000), format: 'uri', type: 'string' } },
    anyOf: [{ anyOf: [{ $ref: '#' }] }],
    patternProperties: { '(x+x+)+y': {} },
  };
  const { document, ignored, findFaults } = readParameterSchema(schema);
  assert.deepEqual(ignored, ['anyOf', 'pattern', 'patternProperties']);
  assert.deepEqual(findFaults({ a: `${'a'.repeat(4_000)}!`, b: 'x'.repeat(4_000) }), []);
  const { properties, ...rest } = document as { readonly properties: Readonly<Record<string, Schema>> };
  assert.deepEqual(rest, { title: '?[31mred' });
  assert.deepEqual(Object.keys(properties['a'] ?? {}), ['description', 'type']);
  assert.ok(String(properties['a']?.['description']).length <= 4_096);
});

test('additional parameters are allowed if they may match a pattern that is not evaluated', () => {
  for (const others of [false, { enum: ['a'] }]) {
    const { document, ignored, findFaults } = readParameterSchema({
      properties: { tier: { enum: ['a'] } },
      patternProperties: { '^label-': { type: 'string' } },
      additionalProperties: others,
    });
    assert.deepEqual(findFaults({ tier: 'a', 'label-x': 'y' }), []);
    assert.deepEqual(findFaults({ tier: 'b' }), [{ path: ['tier'], message: 'is not one of a' }]);
    assert.deepEqual(document, { properties: { tier: { enum: ['a'] } } });
    assert.deepEqual(ignored, ['additionalProperties', 'patternProperties']);
  }
});

test('the largest schema is not read again for each of many wrong parameters, and the answer is bounded', () => {
  let shown = 0;
  const text = (): string => {
    shown++;
    return 'text';
  };
  // Counts how often a choice is converted to text.
  const counted = { toString: text, toJSON: text };
  const parameters = Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [`p${n}`, '']));
  for (const others of [
    { enum: Array.from({ length: 9_000 }, () => ({ ...counted })) },
    { const: counted },
  ]) {
    const { findFaults } = readParameterSchema({ additionalProperties: others });
    const before = shown;
    const faults = findFaults(parameters);
    assert.equal(shown, before);
    assert.equal(faults.length, maxFaults);
    for (const { message } of faults) assert.ok(message.length <= 300);
  }
});

test('the error names the first of many missing parameters', () => {
  const required = Array.from({ length: 8_000 }, (_, n) => `p${n}`);
  const faults = readParameterSchema({ required }).findFaults({ p0: '' });
  assert.equal(faults.length, maxFaults);
  assert.deepEqual(faults[0], { path: ['p1'], message: 'is missing' });
});

test('choices other than texts are shown as JSON, with any members', () => {
  const choices = [1, null, { toString: 1 }, 'a'];
  const { findFaults } = readParameterSchema({ additionalProperties: { enum: choices } });
  assert.deepEqual(findFaults({ a: 'x' }), [
    { path: ['a'], message: 'is not one of 1, null, {"toString":1}, a' },
  ]);
});

test('any JSON is read or refused as a schema within a short time', () => {
  fc.assert(
    fc.property(
      fc.jsonValue({ maxDepth: 6 }),
      fc.dictionary(fc.string(), fc.string()),
      (schema, parameters) => {
        const startedMs = performance.now();
        try {
          readParameterSchema(schema).findFaults(parameters);
        } catch (error) {
          assert.match(String(error), /^Error: /);
        }
        assert.ok(performance.now() - startedMs < 1_000);
      },
    ),
  );
});
