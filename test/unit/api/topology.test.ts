import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { segmentsSchema } from '../../../src/api/storage.ts';
import {
  isReachable,
  meetsTerm,
  parseSegments,
  formatSegments,
  withoutEmpty,
  type Segments,
} from '../../../src/api/topology.ts';

const key = fc.constantFrom('zone', 'rack', 'x.example/zone', 'x.example/protocol-nfs');
const value = fc.constantFrom('a', 'b', 'c');
const segments: fc.Arbitrary<Segments> = fc.dictionary(key, value, { minKeys: 1, noNullPrototype: true });
const any: fc.Arbitrary<Segments> = fc.dictionary(key, value, { noNullPrototype: true });

test('a resource with a topology is reachable wherever all its segments match', () => {
  fc.assert(
    fc.property(segments, any, (topology, others) => {
      const there = { ...others, ...topology };
      assert.ok(isReachable(topology, there));
      const [first = ''] = Object.keys(topology);
      assert.ok(!isReachable(topology, { ...there, [first]: 'elsewhere' }));
      const { [first]: _, ...without } = there;
      assert.ok(!isReachable(topology, without));
    }),
  );
});

test('a topology matches a term about a part of it, and none with another value or without that key', () => {
  fc.assert(
    fc.property(segments, any, (topology, others) => {
      assert.ok(meetsTerm(topology, { ...others, ...topology }));
      for (const [name, segment] of Object.entries(topology)) {
        assert.ok(meetsTerm(topology, { [name]: segment, unknown: 'x' }));
        assert.ok(!meetsTerm(topology, { ...others, ...topology, [name]: 'no' }));
      }
      assert.ok(!meetsTerm(topology, { unknown: 'x' }));
      assert.ok(!meetsTerm(topology, {}));
    }),
  );
});

test('keys are compared case-insensitively, values case-sensitively', () => {
  assert.ok(isReachable({ Zone: 'a' }, { zone: 'a' }));
  assert.ok(meetsTerm({ Zone: 'a' }, { ZONE: 'a' }));
  assert.ok(!isReachable({ zone: 'a' }, { zone: 'A' }));
});

test('segments are read in the format of the output', () => {
  fc.assert(fc.property(segments, given => assert.deepEqual(parseSegments(formatSegments(given)), given)));
  assert.deepEqual(parseSegments(' zone=a , x.example/rack=r1 '), { zone: 'a', 'x.example/rack': 'r1' });
});

test('an invalid topology is refused', () => {
  const long = ['p', 'z', 'v'].map(letter => letter.repeat(64));
  const parts = ['', 'zone', 'zone=', 'zone=a=b', '-zone=a', 'X.example/zone=a', 'a/b/zone=a', 'zone=-a'];
  for (const part of [...parts, `${long[0]}/zone=a`, `${long[1]}=a`, `zone=${long[2]}`])
    assert.throws(() => parseSegments(`rack=r1,${part}`), {
      message: `"${part}" is not a topology key with a value, such as zone=a`,
    });
  for (const twice of ['zone=a,zone=b', 'zone=a,Zone=b'])
    assert.throws(() => parseSegments(twice), { message: 'has a key twice' });
});

test('the API accepts the same segments, and also empty values', () => {
  assert.ok(segmentsSchema.safeParse({ zone: '', 'x.example/rack': 'r1' }).success);
  const many = Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`key-${at}`, 'v'.repeat(60)]));
  const refused = [{ '': 'a' }, { 'a b': 'a' }, { zone: 'a b' }, { zone: 'a', Zone: 'a' }, { zone: 1 }, many];
  for (const given of refused) assert.ok(!segmentsSchema.safeParse(given).success, JSON.stringify(given));
  assert.deepEqual(withoutEmpty({ zone: '', rack: 'r1' }), { rack: 'r1' });
});
