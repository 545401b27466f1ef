import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { array, assert as assertProperty, asyncProperty, nat } from 'fast-check';
import { isFull, seed } from '../../../../harness/sample.ts';
import { storeIn } from '../../../../harness/stores/store-in.ts';
import { memoryDirectory } from '../../../../harness/model/run.ts';
import { openMemoryStorage } from '../../../../harness/model/storage.ts';
import { openWorld } from '../../../../harness/model/world.ts';
import { event } from './events.ts';
import { play } from './play.ts';
import type { State } from './rules.ts';

const { MODEL_RUNS: runs, MODEL_PATH: path } = process.env;
const usualRuns = isFull ? 60 : 6;
const maxEvents = 60;

/** Outcomes that the runs must include to be meaningful; the last one is too rare for a few runs. */
const wanted = [
  'attach FAILED_PRECONDITION',
  'grant ok',
  'copy ok',
  'copy NOT_FOUND',
  'revoke copies ok',
  'force revoke ok',
  'transfer ok',
  ...(isFull ? ['transfer FAILED_PRECONDITION'] : []),
];

test('after any concurrent shares, transfers and requests each cluster has its own volumes, within its quota, once', async t => {
  const directory = memoryDirectory(t);
  const answers = new Map<string, number>();
  const count = (what: string): void => void answers.set(what, (answers.get(what) ?? 0) + 1);
  let stores = 0;
  const property = asyncProperty(
    array(event, { minLength: maxEvents / 2, maxLength: maxEvents, size: 'max' }),
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
  // The outcome of concurrent requests depends on timing, so shrinking makes no sense.
  const once = { seed, numRuns, endOnFailure: true };
  await assertProperty(property, { ...once, ...(path !== undefined && { path }) });
  t.diagnostic(JSON.stringify(Object.fromEntries([...answers].sort())));
  if (runs === undefined && path === undefined)
    for (const what of wanted) assert.ok(answers.has(what), `never came of it: ${what}`);
});
