import { targetsOf, type Fault, type Rule, type Target } from './rules.ts';

/** Decides what happens to each call; the same calls in the same order have the same fate. */
export interface Dice {
  /** What happens to this call, in the order of the rules: delays, and at most one fault that ends it. */
  fateOf(target: Target): readonly Timed[];
  /** True when the process is to die now. */
  diesAt(target: Target, point: string): boolean;
}

/** A fault that happens now, with the time that a delay takes. */
export type Timed = { readonly fault: Fault; readonly delayMs: number };

type Die = {
  readonly rule: Rule;
  readonly targets: ReadonlySet<Target>;
  falls(): boolean;
  random(): number;
};

/** Makes the dice of one process: each rule counts its own calls and has its own random numbers. */
export function createDice(rules: readonly Rule[], seed: number): Dice {
  const dice = rules.map((rule, index) => createDie(rule, seed + index * 0x9e37_79b9));
  const falling = (target: Target, suits: (rule: Rule) => boolean): readonly Die[] =>
    dice.filter(({ rule, targets, falls }) => targets.has(target) && suits(rule) && falls());
  return {
    fateOf(target) {
      const fallen = falling(target, ({ fault }) => fault !== 'crash');
      const delays = fallen.filter(({ rule }) => rule.fault === 'latency');
      const end = fallen.find(({ rule }) => rule.fault !== 'latency');
      return [...delays, ...(end ? [end] : [])].map(({ rule, random }) => ({
        fault: rule,
        delayMs: rule.fault === 'latency' ? rule.leastMs + random() * (rule.mostMs - rule.leastMs) : 0,
      }));
    },
    diesAt: (target, point) =>
      falling(target, rule => rule.fault === 'crash' && rule.point === point).length > 0,
  };
}

function createDie(rule: Rule, seed: number): Die {
  const random = mulberry32(seed);
  let calls = 0;
  return {
    rule,
    targets: targetsOf(rule),
    random,
    falls() {
      calls++;
      if ('chance' in rule) return random() < rule.chance;
      return 'every' in rule ? calls % rule.every === 0 : calls === rule.call;
    },
  };
}

/** Numbers from 0 up to but not including 1: the public-domain generator mulberry32, whose state is 32 bits. */
function mulberry32(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b_79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
