import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { clusterOf, isShortName, maxIdBytes } from '../../../src/api/ids.ts';
import { resourceId } from '../../../src/controller/messages.ts';

const cluster = fc.stringMatching(/^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$/);
const plain = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,150}$/);
const hashed = fc.stringMatching(/^[a-z0-9]{1,20}-x[0-9a-f]{32}$/);
const name = fc.oneof(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 200 }), plain, hashed);

test('an id has at most 128 bytes of a safe alphabet, and begins with its cluster', () => {
  fc.assert(
    fc.property(cluster, name, (c, n) => {
      const id = resourceId(c, n);
      assert.ok(Buffer.byteLength(id) <= maxIdBytes);
      assert.match(id, /^[a-z0-9-]+\.[A-Za-z0-9][A-Za-z0-9_.-]*$/);
      assert.equal(clusterOf(id), c);
      assert.equal(resourceId(c, n), id);
    }),
    { numRuns: 2_000 },
  );
});

test('two names never share an id', () => {
  fc.assert(
    fc.property(cluster, name, name, (c, one, other) => {
      fc.pre(one !== other);
      assert.notEqual(resourceId(c, one), resourceId(c, other));
    }),
    { numRuns: 2_000 },
  );
});

test('a name differs from every name that looks like its own hashed id', () => {
  fc.assert(
    fc.property(cluster, name, (c, n) => {
      const imitation = resourceId(c, n).slice(c.length + 1);
      if (imitation === n) assert.ok(!/-x[0-9a-f]{32}$/.test(n));
      else assert.notEqual(resourceId(c, imitation), resourceId(c, n));
    }),
    { numRuns: 1_000 },
  );
});

test('names that differ after their first characters, in case, or in a removed character stay distinct', () => {
  const odd = [
    'pvc-1',
    'PVC-1',
    'pvc_1',
    'pvc/1',
    'pvc 1',
    'pvc%1',
    '-pvc-1',
    '.pvc-1',
    'ü',
    'u',
    '/',
    '//',
    ' ',
  ];
  const long = [100, 126, 127, 128, 300].flatMap(length => ['a', 'b'].map(end => 'p'.repeat(length) + end));
  const names = [...odd, ...long];
  assert.equal(new Set(names.map(n => resourceId('a', n))).size, names.length);
});

test('an ordinary name is unchanged in its id, after its cluster', () => {
  const uid = 'pvc-0a1b2c3d-0000-4000-8000-0123456789ab';
  assert.equal(resourceId('prod-1', uid), `prod-1.${uid}`);
});

const longId = `a.${'x'.repeat(127)}`;
for (const id of [
  '',
  'a',
  'a.',
  '.a',
  'A.x',
  'a_b.x',
  '-a.x',
  'a-.x',
  'a.x/y',
  'a./',
  'a.-x',
  'a..',
  'a.é',
  longId,
])
  test(`"${id}" is an invalid id and belongs to no cluster`, () => assert.equal(clusterOf(id), undefined));

for (const bad of ['', 'A', 'a.b', 'a_b', '-a', 'a-', 'a b', 'ü', 'a/b', 'a\n', 'x'.repeat(33)])
  test(`${JSON.stringify(bad)} is an invalid cluster name`, () => assert.equal(isShortName(bad), false));
