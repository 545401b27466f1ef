import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { chooseTopologies, meets, readRequirement } from '../../../../gateway/volumes/placement.ts';
import { meetsTerm, type Segments } from '../../../../src/api/topology.ts';

const zone = fc.constantFrom('a', 'b', 'c', 'd');
const terms = fc.uniqueArray(
  fc.record(
    { zone: fc.oneof(zone, fc.constant('')), 'x/protocol-nfs': fc.constantFrom('true', '') },
    { requiredKeys: [] },
  ) as fc.Arbitrary<Segments>,
  { selector: term => JSON.stringify(term), maxLength: 5 },
);
const topologies = fc.uniqueArray(zone, { minLength: 1 }).map(zones => zones.map(name => ({ zone: name })));
/** Preferred topologies are some of the requisite ones, or stand alone. */
const requirements = fc
  .tuple(terms, terms, fc.boolean())
  .chain(([requisite, other, alone]) =>
    fc
      .shuffledSubarray(alone ? [...other] : [...requisite])
      .map(preferred => (alone ? { preferred } : { requisite, preferred })),
  );

test('every chosen topology meets the requirement, each occurs once, and none is omitted', () => {
  fc.assert(
    fc.property(topologies, requirements, (there, asked) => {
      const requirement = readRequirement(asked);
      const chosen = chooseTopologies(there, requirement);
      assert.deepEqual(new Set(chosen), new Set(there.filter(segments => meets(segments, requirement))));
      assert.equal(chosen.length, new Set(chosen).size);
    }),
  );
});

test('preferred topologies come first, in the order of the terms', () => {
  fc.assert(
    fc.property(topologies, requirements, (there, asked) => {
      const requirement = readRequirement(asked);
      const ranks = chooseTopologies(there, requirement).map(segments => {
        const rank = requirement.preferred.findIndex(term => meetsTerm(segments, term));
        return rank < 0 ? Number.POSITIVE_INFINITY : rank;
      });
      const sorted = ranks.toSorted((one, other) => one - other);
      assert.deepEqual(ranks, sorted);
    }),
  );
});

test('empty values, and terms without any other values, are dropped', () => {
  const asked = {
    requisite: [{ zone: '' }, { zone: 'a', rack: '' }],
    preferred: [{ zone: 'a', rack: '' }, {}],
  };
  assert.deepEqual(readRequirement(asked), { requisite: [{ zone: 'a' }], preferred: [{ zone: 'a' }] });
  const nothing = { requisite: [], preferred: [] };
  for (const asNothing of [undefined, {}, { requisite: [] }, { requisite: [{ zone: '' }], preferred: [{}] }])
    assert.deepEqual(readRequirement(asNothing), nothing);
});

test('preferred topologies must be requisite, if there are requisite ones', () => {
  const asked = { requisite: [{ zone: 'a' }], preferred: [{ zone: 'b' }] };
  assert.throws(() => readRequirement(asked), {
    code: 'INVALID_ARGUMENT',
    detail: /"zone=b" is not one of the requisite terms/,
  });
});

test('a volume that is reachable from everywhere meets every requirement', () => {
  fc.assert(fc.property(requirements, asked => assert.ok(meets(undefined, readRequirement(asked)))));
});

test('the maximum of terms is read', () => {
  const requisite = Array.from({ length: 8_192 }, (_, at) => ({ node: `n${at}` }));
  assert.equal(readRequirement({ requisite, preferred: requisite.toReversed() }).preferred.length, 8_192);
});
