/**
 * True if the first attachment was made before the second. Compares ids that start with the time (UUIDs of version 7); the
 * order of other ids is unknown, so the answer is false.
 */
export function isOlder(one: string, other: string): boolean {
  const timed = /^[0-9a-f]{8}-[0-9a-f]{4}-7/;
  return timed.test(one) && timed.test(other) && one < other;
}
