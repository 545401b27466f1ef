import { createHash } from 'node:crypto';

/** Choices that are the same for the same seed. */
export interface Random {
  /** A whole number from 0 to one less than `count`. */
  below(count: number): number;
  pick<T>(list: readonly [T, ...(readonly T[])]): T;
  /** So many members of the list, in its order. */
  some<T>(list: readonly T[], count: number): readonly T[];
}

/** Makes the choices of a seed and a name: none depends on what was chosen by another name. */
export function createRandom(seed: number, name: string): Random {
  let drawn = 0;
  const below = (count: number): number => {
    const digest = createHash('sha256').update(`${seed} ${name} ${drawn++}`).digest();
    return digest.readUIntBE(0, 6) % count;
  };
  return {
    below,
    pick: list => list[below(list.length)] ?? list[0],
    some(list, count) {
      const left = list.map((_, index) => index);
      const chosen = new Set<number>();
      while (chosen.size < Math.min(count, list.length))
        for (const index of left.splice(below(left.length), 1)) chosen.add(index);
      return list.filter((_, index) => chosen.has(index));
    },
  };
}
