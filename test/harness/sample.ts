import { createHash, randomInt } from 'node:crypto';

/** True if loops and models run at full length: `npm run test:full`, or TEST_FULL=1. */
export const isFull = process.env['TEST_FULL'] === '1';

/** The seed of all choices of a run: TEST_SEED, which `npm test` prints; without it a random one. */
export const seed = readSeed();

/**
 * Chooses `count` members of a list, in list order, by the run's seed and a name that is unique in the file; at full
 * length returns the whole list. The same seed gives the same choice.
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
