/** Returns the largest number, at least `least`. Unlike `Math.max`, it takes a list of any length. */
export function maxOf(values: Iterable<number>, least = -Infinity): number {
  let max = least;
  for (const value of values) max = Math.max(max, value);
  return max;
}

/** Returns the smallest number, at most `most`. Unlike `Math.min`, it takes a list of any length. */
export function minOf(values: Iterable<number>, most = Infinity): number {
  let min = most;
  for (const value of values) min = Math.min(min, value);
  return min;
}
