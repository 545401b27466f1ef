import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findPuzzles, goalOf, readBudget } from '../plain-english.ts';

const found = findPuzzles();
const budget = readBudget();

for (const [folder, puzzles] of found)
  test(`the comments of ${folder} are plain English, within its budget`, () => {
    const goal = goalOf(folder, puzzles);
    const left = budget[folder] ?? goal;
    for (const kind of ['openings', 'headless'] as const) {
      const max = Math.max(goal[kind], left[kind]);
      const list = `\n${puzzles[kind].join('\n')}`;
      assert.ok(
        puzzles[kind].length <= max,
        `${puzzles[kind].length} ${kind}, at most ${max} allowed:${list}`,
      );
    }
  });

test('the budget names only folders that miss the goal', () => {
  for (const folder of Object.keys(budget)) {
    const puzzles = found.get(folder);
    assert.ok(puzzles, `there is no folder ${folder}`);
    const goal = goalOf(folder, puzzles);
    const isMet = puzzles.openings.length <= goal.openings && puzzles.headless.length <= goal.headless;
    assert.ok(!isMet, `${folder} meets the goal: run node test/plain-english.ts --shrink`);
  }
});
