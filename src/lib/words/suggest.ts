/**
 * Finds the word that a mistyped or shortened one probably means, as ` (did you mean "x"?)`; empty when none is
 * similar.
 */
export function suggest(typed: string, words: Iterable<string>): string {
  let best = { word: '', distance: Math.min(3, Math.ceil(typed.length / 2)) };
  for (const word of words) {
    const distance = typed.length > 1 && word.startsWith(typed) ? 0.5 : editDistance(typed, word);
    if (distance < best.distance) best = { word, distance };
  }
  return best.word === '' ? '' : ` (did you mean "${best.word}"?)`;
}

/** The number of letters to insert, remove, change or swap to turn one word into the other. */
function editDistance(a: string, b: string): number {
  let before: readonly number[] = [];
  let row: readonly number[] = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (const [i, letter] of [...a].entries()) {
    const next = [i + 1];
    for (let j = 1; j <= b.length; j++) {
      const changed = at(row, j - 1) + (letter === b[j - 1] ? 0 : 1);
      const isSwapped = i > 0 && letter === b[j - 2] && a[i - 1] === b[j - 1];
      const swapped = isSwapped ? at(before, j - 2) + 1 : Infinity;
      next.push(Math.min(changed, swapped, at(row, j) + 1, at(next, j - 1) + 1));
    }
    [before, row] = [row, next];
  }
  return at(row, b.length);
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? 0;
}
