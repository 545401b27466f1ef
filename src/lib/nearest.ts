/** The word that a mistyped one is likely to mean, as `; did you mean "x"?`; empty when none is near. */
export function suggest(typed: string, words: Iterable<string>): string {
  let best = { word: '', distance: Math.min(3, Math.ceil(typed.length / 2)) };
  for (const word of words) {
    const distance = editDistance(typed, word);
    if (distance < best.distance) best = { word, distance };
  }
  return best.word === '' ? '' : `; did you mean "${best.word}"?`;
}

/** How many letters must be put in, left out or changed to make one word of the other (Levenshtein). */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (const [i, letter] of [...a].entries()) {
    const next = [i + 1];
    for (let j = 1; j <= b.length; j++) {
      const changed = (row[j - 1] ?? 0) + (letter === b[j - 1] ? 0 : 1);
      next.push(Math.min(changed, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
