import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findPuzzles, goalOf } from '../plain-english.ts';

for (const [folder, puzzles] of findPuzzles())
  test(`${folder} is in plain English`, () => {
    const goal = goalOf(folder, puzzles);
    for (const kind of ['openings', 'headless'] as const) {
      const list = `\n${puzzles[kind].join('\n')}`;
      assert.ok(
        puzzles[kind].length <= goal[kind],
        `${puzzles[kind].length} ${kind}, at most ${goal[kind]} allowed:${list}`,
      );
    }
  });
