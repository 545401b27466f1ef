import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { array, assert as assertProperty, asyncProperty, nat } from 'fast-check';
import { isFull, seed } from '../../../../harness/sample.ts';
import { storeIn } from '../../../../harness/stores/store-in.ts';
import { memoryDirectory } from '../../model/run.ts';
import { openMemoryStorage } from '../../model/storage.ts';
import { openWorld } from '../../model/world.ts';
import { event } from './events.ts';
import { play } from './play.ts';
import type { State } from './rules.ts';

const { MODEL_RUNS: runs, MODEL_PATH: path } = process.env;
const usualRuns = isFull ? 60 : 6;
const mostEvents = 60;

/** What must come of something in the usual runs, lest they show nothing. */
const wanted = [
  'attach FAILED_PRECONDITION',
  'grant ok',
  'force revoke ok',
  'hand over ok',
  'hand over FAILED_PRECONDITION',
];

test('whatever clusters share, hand over and ask for at once, each has what is its own, within its quota, once', async t => {
  const directory = memoryDirectory(t);
  const answers = new Map<string, number>();
  const count = (what: string): void => void answers.set(what, (answers.get(what) ?? 0) + 1);
  let stores = 0;
  const property = asyncProperty(
    array(event, { minLength: mostEvents / 2, maxLength: mostEvents, size: 'max' }),
    nat(),
    async (events, faultSeed) => {
      const store = await storeIn(join(directory, String(stores++)));
      const world = await openWorld(t, {
        store,
        storage: await openMemoryStorage(),
        seed: faultSeed,
        rules: [],
      });
      let state: State = { volumes: {}, moved: {} };
      try {
        for (const one of events) state = await play(one, { state, world, count });
      } finally {
        await world.close();
      }
    },
  );
  const numRuns = runs === undefined ? usualRuns : Number(runs);
  // What comes of two at once depends on the moment, and is not made smaller.
  const once = { seed, numRuns, endOnFailure: true };
  await assertProperty(property, { ...once, ...(path !== undefined && { path }) });
  t.diagnostic(JSON.stringify(Object.fromEntries([...answers].sort())));
  if (runs === undefined && path === undefined)
    for (const what of wanted) assert.ok(answers.has(what), `never came of it: ${what}`);
});
