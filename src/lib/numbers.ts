/** Returns the largest number, at least `min`. Unlike `Math.max`, it takes a list of any length. */
export function maxOf(values: Iterable<number>, min = -Infinity): number {
  let largest = min;
  for (const value of values) largest = Math.max(largest, value);
  return largest;
}

/** Returns the smallest number, at most `max`. Unlike `Math.min`, it takes a list of any length. */
export function minOf(values: Iterable<number>, max = Infinity): number {
  let smallest = max;
  for (const value of values) smallest = Math.min(smallest, value);
  return smallest;
}
