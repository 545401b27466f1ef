import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import * as z from 'zod';
import { readLong } from '../../../../gateway/http/body.ts';
import type { Problem } from '../../../../src/api/problem.ts';
import { volumeSpecSchema } from '../../../../src/api/volume.ts';
import { openGateway, volumeSpec } from '../../../harness/gateway.ts';

const any = z.unknown();
const terms = Array.from({ length: 8_192 }, (_, index) => ({ zone: `zone-${index}` }));

test('a long body is read as JSON.parse reads it', () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 8 }), text => {
      if (text.includes('__proto__')) return;
      assert.deepEqual(read(any, ` ${text}\n`).value, JSON.parse(text));
      assert.deepEqual(read(any, JSON.stringify(JSON.parse(text), null, 2)).value, JSON.parse(text));
    }),
  );
  const texts = ['x'.repeat(32_766), '\\"'.repeat(5_000), '[{'.repeat(20), 'a\\', '\\u0000', '\u00e9'];
  const text = JSON.stringify({ lists: [terms, texts, terms], '\\"': { ':': ',' } });
  assert.deepEqual(read(any, text).value, JSON.parse(text));
});

test('a long body that is no JSON, or matches no schema, is INVALID_ARGUMENT', () => {
  const bad = [
    '',
    '{',
    '[1,]',
    '{"a":1,}',
    '{"a"}',
    '{a:1}',
    '[1 2]',
    '"a',
    '"a\\"',
    'nul',
    '[]]',
    '"\u0001"',
    '"\\u00"',
  ];
  for (const text of bad) assert.throws(() => read(any, text), { code: 'INVALID_ARGUMENT' }, text);
});

const items = Array.from({ length: 100_000 }, (_, index) => index.toString(36));
const tooManyEntries = /^body: more than 8192 entries in a list or an object; send fewer$/;
const tooManySequences = /^body: more than 2048 different sequences of keys; send fewer$/;
const tooLong = /^body: more than 32768 characters in a text; send fewer$/;
/** Bodies that would keep `JSON.parse` or a schema busy for long. */
const refused: Readonly<Record<string, readonly [text: string, detail: RegExp]>> = {
  'deep lists': ['['.repeat(100_000), /^body: more than 16 nested levels; send fewer$/],
  'deep objects': ['{"a":'.repeat(100_000), /^body: more than 16 nested levels; send fewer$/],
  'a long list': [JSON.stringify(items), tooManyEntries],
  'a long object': [`{${items.map(() => '"a":1').join()}}`, tooManySequences],
  'many keys': [JSON.stringify(items.slice(0, 3_000).map(key => ({ [key]: 1 }))), tooManySequences],
  'few keys in many orders': [
    JSON.stringify(
      items.slice(0, 3_000).map((key, index) => ({
        [items[index % 60] ?? '']: 1,
        [key.charAt(0)]: 1,
        [items[Math.floor(index / 60)] ?? '']: 1,
      })),
    ),
    tooManySequences,
  ],
  'many objects': [
    `[${Array.from({ length: 4 }, () => `[${'{},'.repeat(8_000)}{}]`).join()}]`,
    /^body: more than 17408 objects and lists; send fewer$/,
  ],
  'a long text': [`{"a":"${'b'.repeat(100_000)}"}`, tooLong],
  'a long escaped text': [`{"a":"${'\\"'.repeat(100_000)}"}`, tooLong],
  'a long text without an end': [`{"a":"${'\\"'.repeat(600_000)}\\`, tooLong],
  'a long key': [`{"${'b'.repeat(100_000)}":1}`, tooLong],
  'a hidden key': [`[${'1,'.repeat(1_000)}{"\\u005f_proto__":1}]`, /"__proto__" is not allowed/],
  'a hidden NUL': [`[${'1,'.repeat(1_000)}"\\u0000"]`, /NUL/],
};
for (const [name, [text, detail]] of Object.entries(refused))
  test(`a long body with ${name} is refused before it is parsed`, t => {
    const parse = t.mock.method(JSON, 'parse');
    assert.throws(() => read(any, text), { code: 'INVALID_ARGUMENT', detail });
    assert.ok(parse.mock.calls.every(({ arguments: [part] }) => String(part).length < 20));
  });

test('the checks before a body is parsed take many steps', () => {
  assert.ok(read(any, JSON.stringify([terms])).steps > 10);
});

test('each of thousands of terms is a step, and the schema still decides', () => {
  const body = { ...volumeSpec('v'), topology: { requisite: terms, preferred: terms } };
  const { value, steps } = read(volumeSpecSchema, JSON.stringify(body));
  assert.deepEqual(value, body);
  assert.ok(steps > 16_384);
  const bad = { ...body, topology: { requisite: [...terms.slice(1), { zone: '?' }] } };
  assert.throws(() => read(volumeSpecSchema, JSON.stringify(bad)), {
    detail: /^body\.topology\.requisite\.8191\.zone: /,
  });
});

test('each capability is a step, and the schema still checks each one and their number', () => {
  const flags = Array.from({ length: 64 }, (_, index) => `flag-${index}`);
  const [one] = volumeSpec('v').capabilities;
  const capabilities = Array.from({ length: 64 }, () => ({ ...one, mountFlags: flags }));
  const body = { ...volumeSpec('v'), capabilities };
  assert.deepEqual(read(volumeSpecSchema, JSON.stringify(body)).value, body);
  const bad = { ...one, mountFlags: flags.map(() => 0) };
  const rows: readonly (readonly [readonly unknown[], RegExp])[] = [
    [[...capabilities.slice(1), bad], /^body\.capabilities\.63\.mountFlags\.0: /],
    [[...capabilities, one], /^body\.capabilities: /],
    [[], /^body\.capabilities: /],
  ];
  for (const [list, detail] of rows)
    assert.throws(() => read(volumeSpecSchema, JSON.stringify({ ...body, capabilities: list })), { detail });
});

test('the errors of a body are limited to a readable number', () => {
  const parameters = Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`key-${index}`, 0]));
  assert.throws(
    () => read(volumeSpecSchema, JSON.stringify({ ...volumeSpec('v'), parameters })),
    ({ detail }: Problem) => /^body\.parameters\.key-0: .* …$/.test(detail) && detail.length < 5_000,
  );
});

test('a volume may name thousands of terms', async t => {
  const { ask } = await openGateway(t);
  const body = { ...volumeSpec('v'), topology: { requisite: terms, preferred: terms } };
  const { status } = await ask('PUT /v1/volumes/a.v', { body });
  assert.equal(status, 201);
});

test('while the gateway reads a long body, another cluster is answered', async t => {
  const { ask } = await openGateway(t);
  const order: string[] = [];
  const body = { ...volumeSpec('v'), topology: { requisite: terms, preferred: terms } };
  const long = ask('PUT /v1/volumes/a.v', { body }).then(() => order.push('long'));
  const short = ask('PUT /v1/volumes/b.v', { as: 'b', body: volumeSpec('v') }).then(() =>
    order.push('short'),
  );
  await Promise.all([long, short]);
  assert.deepEqual(order, ['short', 'long']);
});

test('only a bounded part of a long body is read in a time slice, however quickly it arrives', async t => {
  const { ask } = await openGateway(t);
  const piece = new TextEncoder().encode(' '.repeat(65_536));
  const readIn = new Map<number, number>();
  const slice = { number: 0, isLast: false };
  const follow = (): void => {
    slice.number++;
    if (!slice.isLast) setImmediate(follow);
  };
  const body = new ReadableStream({
    pull(stream) {
      readIn.set(slice.number, (readIn.get(slice.number) ?? 0) + 1);
      if (readIn.values().reduce((sum, count) => sum + count) > 16) stream.close();
      else stream.enqueue(piece);
    },
  });
  const answer = ask('PUT /v1/volumes/a.v', { body });
  follow();
  assert.equal((await answer).status, 400);
  slice.isLast = true;
  assert.ok(Math.max(...readIn.values()) <= 2, JSON.stringify([...readIn]));
});

test('a caller with too much in flight learns when to come again', async t => {
  const { ask, slices } = await openGateway(t);
  const held = slices.enter(
    { name: 'a', acceptAnyNode: false, pools: undefined },
    { requests: 256, bytes: 0 },
  );
  const { status, headers, body } = await ask('GET /v1/volumes');
  assert.deepEqual([status, body['code'], headers.get('retry-after')], [429, 'UNAVAILABLE', '1']);
  assert.equal((await ask('GET /v1/volumes', { as: 'b' })).status, 200);
  held[Symbol.dispose]();
  assert.equal((await ask('GET /v1/volumes')).status, 200);
});

/** The limits of a cluster's running and waiting operations at a pool whose storage has not answered yet. */
const [maxRunning, maxWaiting] = [12, 512];

test('work after its answer is bounded too, and delays only further such work', async t => {
  const { ask, backend } = await openGateway(t);
  const release = backend.hold('create');
  // A held call would keep the process running.
  t.after(release);
  const create = (name: string, as: 'a' | 'b' = 'a', prefer = 'wait=0') =>
    ask(`PUT /v1/volumes/${as}.${name}`, { as, body: volumeSpec(name), headers: { prefer } });
  const names = Array.from({ length: maxRunning + maxWaiting }, (_, index) => `v${index}`);
  for (const name of names) assert.equal((await create(name)).status, 202);
  // A caller that does not wait may be answered before the refusal.
  const { status, headers, body } = await create('more', 'a', 'wait=30');
  assert.deepEqual([status, body['code'], headers.get('retry-after')], [429, 'UNAVAILABLE', '1']);
  assert.equal((await create('v0')).status, 202);
  assert.equal((await ask('GET /v1/volumes/a.v0')).status, 200);
  assert.equal((await create('v0', 'b')).status, 202);
  release();
  for (const name of names) await ask(`PUT /v1/volumes/a.${name}`, { body: volumeSpec(name) });
  assert.equal((await ask('PUT /v1/volumes/a.more', { body: volumeSpec('more') })).status, 201);
});

function read(schema: z.ZodType, text: string): { readonly value: unknown; readonly steps: number } {
  const reading = readLong(schema, text);
  for (let steps = 0; ; steps++) {
    const step = reading.next();
    if (step.done) return { value: step.value, steps };
  }
}
