import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as z from 'zod';
import { describeIssues } from '../../../src/api/schemas/issues.ts';

const schema = z.strictObject({
  text: z.string().min(1).max(3),
  count: z.int().min(1).max(9),
  flag: z.boolean(),
  list: z.array(z.string()).min(2),
  word: z.enum(['one', 'two']),
  record: z.record(z.string(), z.number()),
  kind: z.discriminatedUnion('type', [
    z.object({ type: z.literal('a') }),
    z.object({ type: z.literal('b') }),
  ]),
  url: z.url(),
  start: z.string().startsWith('x'),
  even: z.number().multipleOf(2),
});

const sound = {
  text: 'a',
  count: 1,
  flag: true,
  list: ['a', 'b'],
  word: 'one',
  record: {},
  kind: { type: 'a' },
  url: 'https://x',
  start: 'x',
  even: 2,
};

const faults: readonly (readonly [given: object, fault: string])[] = [
  [{ text: undefined }, 'text: is missing; give text'],
  [{ text: 5 }, 'text: must be text, but is a number'],
  [{ text: '' }, 'text: must not be empty'],
  [{ text: 'long' }, 'text: must have at most 3 characters'],
  [{ count: 'x' }, 'count: must be a number, but is text'],
  [{ count: 1.5 }, 'count: must be a whole number, but is a number'],
  [{ count: 0 }, 'count: must be at least 1'],
  [{ flag: null }, 'flag: must be true or false, but is nothing'],
  [{ list: ['a'] }, 'list: must have at least 2 entries'],
  [{ word: 'three' }, 'word: must be one of "one", "two"'],
  [{ record: undefined }, 'record: is missing; give an object with members'],
  [{ kind: { type: 'c' } }, 'kind.type: must be one of "a", "b"'],
  [{ url: 'x' }, 'url: must be an address such as https://host:port'],
  [{ start: 'y' }, 'start: must start with "x"'],
  [{ even: 3 }, 'even: must be a multiple of 2'],
  [{ txet: 1 }, 'txet: is not known (did you mean "text"?)'],
];
for (const [given, fault] of faults)
  test(`a schema's fault is said in plain words: ${fault}`, () => {
    const { error } = schema.safeParse({ ...sound, ...given });
    assert.ok(error);
    const members = (path: readonly PropertyKey[]) => (path.length === 0 ? Object.keys(sound) : []);
    assert.deepEqual(
      describeIssues(error, path => path.join('.'), members),
      [fault],
    );
  });
