import { choice, durationMs, integer } from '../../../src/lib/parsers.ts';
import { canHappen, crashPoints, targets, type Target } from './methods.ts';

/** One rule: to which calls what happens. */
export type Rule = {
  /** Those to which the fault can happen, so that every call of one of them counts. */
  readonly targets: ReadonlySet<Target>;
  readonly when: When;
  readonly fault: Fault;
};

/** Each call with a chance from 0 to 1, or every so many calls, or the so many-th call alone. */
export type When = { readonly kind: 'chance' | 'every' | 'call'; readonly value: number };

/** What happens. */
export type Fault =
  | { readonly kind: 'latency'; readonly leastMs: number; readonly mostMs: number }
  | { readonly kind: 'crash'; readonly point: (typeof crashPoints)[number] }
  | { readonly kind: (typeof plainFaults)[number] };

const plainFaults = [
  'fail',
  'fail-after',
  'lost-answer',
  'hang',
  'locked',
  'busy',
  'wrong-size',
  'partial-page',
] as const;

const highestCount = 1_000_000_000;

/**
 * Reads rules such as `create,attach 10% latency 50ms..2s; all every 20 lost-answer`; an error names the rule and the
 * part of it that is wrong.
 */
export function parseRules(text: string): readonly Rule[] {
  const rules = text
    .split(';')
    .map(rule => rule.trim())
    .filter(rule => rule !== '');
  if (rules.length === 0) throw new Error('there is no rule, such as "all 5% lost-answer"');
  return rules.map((rule, index) => {
    try {
      return parseRule(rule);
    } catch (error) {
      throw new Error(`rule ${index + 1}, "${rule}": ${(error as Error).message}`, { cause: error });
    }
  });
}

function parseRule(rule: string): Rule {
  const [names = '', ...words] = rule.split(/\s+/);
  const { when, rest } = parseWhen(words);
  const fault = parseFault(rest);
  return { targets: parseTargets(names, fault.kind), when, fault };
}

function parseTargets(names: string, fault: Fault['kind']): ReadonlySet<Target> {
  if (names === 'all') return new Set(targets.filter(target => canHappen(fault, target)));
  const named = names.split(',').map(choice('all', ...targets));
  return new Set(
    named.map(target => {
      if (target === 'all') throw new Error('"all" stands alone');
      if (!canHappen(fault, target)) throw new Error(`"${fault}" cannot happen to "${target}"`);
      return target;
    }),
  );
}

function parseWhen(words: readonly string[]): { readonly when: When; readonly rest: readonly string[] } {
  const [first = '', second = ''] = words;
  if (first === 'every' || first === 'call') {
    const value = integer(1, highestCount)(second);
    return { when: { kind: first, value }, rest: words.slice(2) };
  }
  const percent = /^(\d{1,3}(?:\.\d{1,6})?)%$/.exec(first)?.[1];
  if (percent === undefined || Number(percent) > 100)
    throw new Error(`"${first}" does not say when: there are 10%, every 10, and call 10`);
  return { when: { kind: 'chance', value: Number(percent) / 100 }, rest: words.slice(1) };
}

function parseFault([name = '', value, ...more]: readonly string[]): Fault {
  const kind = choice('latency', 'crash', ...plainFaults)(name);
  if (more.length > 0) throw new Error(`"${more.join(' ')}" is too much`);
  if (kind === 'latency') return { kind, ...parseSpan(value ?? '') };
  if (kind === 'crash') return { kind, point: choice(...crashPoints)(value ?? '') };
  if (value !== undefined) throw new Error(`"${value}" is too much`);
  return { kind };
}

function parseSpan(text: string): { readonly leastMs: number; readonly mostMs: number } {
  const [least = '', most = least, ...more] = text.split('..');
  const [leastMs, mostMs] = [durationMs(least), durationMs(most)];
  if (more.length > 0 || mostMs < leastMs) throw new Error(`"${text}" is not a span such as 50ms..2s`);
  return { leastMs, mostMs };
}
