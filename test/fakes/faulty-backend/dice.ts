import { targetsOf, type Rule, type Target } from './rules.ts';

/** A rule whose fault happens at this call, with the rule's random numbers. */
type DueFault = { readonly rule: Rule; random(): number };

/**
 * Chooses the rules whose fault happens at a call. The same calls in the same order get the same
 * faults.
 */
export type Dice = (target: Target, suits: (rule: Rule) => boolean) => readonly DueFault[];

/** Creates the dice of one process: each rule counts its own calls and has random numbers of its own. */
export function createDice(rules: readonly Rule[], seed: number): Dice {
  const dice = rules.map((rule, index) => createDie(rule, seed + index * 0x9e37_79b9));
  return (target, suits) =>
    dice.filter(({ rule, targets, falls }) => targets.has(target) && suits(rule) && falls());
}

function createDie(rule: Rule, seed: number) {
  const random = mulberry32(seed);
  let calls = 0;
  return {
    rule,
    targets: targetsOf(rule),
    random,
    falls(): boolean {
      calls++;
      if ('chance' in rule) return random() < rule.chance;
      return 'every' in rule ? calls % rule.every === 0 : calls === rule.call;
    },
  };
}

/**
 * Generates numbers from 0 up to but not including 1 with mulberry32, a public-domain generator with 32 bits of state.
 */
function mulberry32(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b_79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
