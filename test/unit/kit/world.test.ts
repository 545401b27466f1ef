import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRandom } from '../../../src/kit/random.ts';
import { emptyWorld, outcomesOf, worldsAfter, type Call, type World } from '../../../src/kit/model/world.ts';

const create: Call = { kind: 'create', volume: 'v1', units: 1 };
const attachTo = (node: string): Call => ({ kind: 'attach', volume: 'v1', node });

test('no order of two concurrent calls gives a volume to a second node', () => {
  const world = after(emptyWorld, create);
  const [one, other] = [attachTo('n1'), attachTo('n2')];
  assert.deepEqual(
    worldsAfter(world, [
      { call: one, code: undefined },
      { call: other, code: undefined },
    ]),
    [],
  );
  const [left] = worldsAfter(world, [
    { call: one, code: 'FAILED_PRECONDITION' },
    { call: other, code: undefined },
  ]);
  assert.deepEqual(left?.nodes, { v1: 'n2' });
});

test('an answer that no order explains leaves no possible state', () => {
  const gone: Call = { kind: 'delete', volume: 'v1' };
  const read: Call = { kind: 'read', volume: 'v1' };
  const observed = [
    { call: create, code: undefined },
    { call: gone, code: undefined },
  ];
  assert.equal(worldsAfter(emptyWorld, [...observed, { call: read, code: 'NOT_FOUND' }]).length > 0, true);
  assert.deepEqual(worldsAfter(emptyWorld, [...observed, { call: read, code: 'ABORTED' }]), []);
});

test('a call that was answered with 202 and repeated may act once more after another call', () => {
  const gone: Call = { kind: 'delete', volume: 'v1' };
  const larger: Call = { kind: 'create', volume: 'v1', units: 3 };
  const statesAfter = (isRepeated: boolean): readonly string[] =>
    worldsAfter(after(emptyWorld, create), [
      { call: gone, code: undefined, isRepeated },
      { call: larger, code: undefined },
    ]).map(({ volumes }) => JSON.stringify(volumes));
  const made = JSON.stringify({ v1: { units: 3, requestedUnits: 3 } });
  assert.deepEqual(new Set(statesAfter(false)), new Set([made]));
  assert.deepEqual(new Set(statesAfter(true)), new Set([made, '{}']));
});

test('a case that the rules leave open has several outcomes', () => {
  const world = after(after(emptyWorld, create), { kind: 'snapshot', snapshot: 's1', volume: 'v1' });
  const codes = outcomesOf(world, { kind: 'delete', volume: 'v1' }).map(({ code }) => code);
  assert.deepEqual(codes, [undefined, 'FAILED_PRECONDITION']);
});

test('choices are the same for the same seed and name, and differ otherwise', () => {
  assert.deepEqual(draw(1, 'a'), draw(1, 'a'));
  assert.notDeepEqual(draw(1, 'a'), draw(2, 'a'));
  assert.notDeepEqual(draw(1, 'a'), draw(1, 'b'));
  const some = createRandom(1, 'a').some(['a', 'b', 'c', 'd'], 2);
  assert.equal(some.length, 2);
  assert.deepEqual(some, some.toSorted());
});

function after(world: World, call: Call): World {
  return outcomesOf(world, call)[0]?.world ?? world;
}

function draw(seed: number, name: string): readonly number[] {
  const random = createRandom(seed, name);
  return Array.from({ length: 8 }, () => random.below(1_000));
}
