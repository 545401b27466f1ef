import { createHash, randomInt } from 'node:crypto';

/** Whether loops and models run at their full length: `npm run test:full`, or TEST_FULL=1. */
export const isFull = process.env['TEST_FULL'] === '1';

/** What all choices of a run come from: TEST_SEED, which `npm test` prints; another each time where it is not set. */
export const seed = readSeed();

/**
 * So many members of a list, in their order, chosen by the run's seed and a name that no other choice of the file has; the
 * whole list at full length. The same seed chooses the same.
 */
export function sample<T>(name: string, list: readonly T[], count: number): readonly T[] {
  if (isFull) return list;
  const byDigest = list.map((member, index) => ({ member, index, digest: digestOf(`${name} ${index}`) }));
  const chosen = byDigest.sort((a, b) => (a.digest < b.digest ? -1 : 1)).slice(0, count);
  return chosen.sort((a, b) => a.index - b.index).map(({ member }) => member);
}

function digestOf(text: string): string {
  return createHash('sha256').update(`${seed} ${text}`).digest('hex');
}

function readSeed(): number {
  const given = process.env['TEST_SEED'];
  if (given !== undefined) return Number(given);
  const made = randomInt(2 ** 31);
  process.stdout.write(`TEST_SEED=${made}\n`);
  return made;
}
