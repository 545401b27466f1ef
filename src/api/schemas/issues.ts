import type { z } from 'zod';
import { suggest } from '../../lib/words/suggest.ts';

type Issue = z.core.$ZodIssue;
type Path = readonly PropertyKey[];

/** Lists all faults, each as `path: fault`, in plain words. Values are not shown, because some may be secret. */
export function describeIssues(
  { issues }: z.ZodError,
  locate: (path: Path) => string,
  membersAt: (path: Path) => readonly string[] = () => [],
): readonly string[] {
  return issues.flatMap(issue => {
    if (issue.code === 'unrecognized_keys')
      return issue.keys.map(key => {
        const advice = suggest(key, membersAt(issue.path));
        return `${locate([...issue.path, key])}: is not known${advice}`;
      });
    if (issue.code === 'invalid_key')
      return issue.issues.map(inner => `${locate(issue.path)}: ${describeIssue(inner)}`);
    return [`${locate(issue.path)}: ${describeIssue(issue)}`];
  });
}

/** The library's own messages begin with one of these words; all others are ours. */
const foreign = /^(Invalid|Too big|Too small)\b/;

function describeIssue(issue: Issue): string {
  const { message } = issue;
  if (!foreign.test(message)) {
    const [initial = '', ...rest] = message;
    return `${initial.toLowerCase()}${rest.join('')}`;
  }
  switch (issue.code) {
    case 'invalid_type':
      return describeType(issue.expected, / received (.+)$/.exec(message)?.[1]);
    case 'invalid_value':
      return describeChoice(issue.values);
    case 'invalid_union':
      return 'options' in issue && Array.isArray(issue.options)
        ? describeChoice(issue.options.filter(option => option !== undefined))
        : 'has none of the allowed forms';
    case 'too_small':
      return issue.origin === 'string' && issue.minimum === 1
        ? 'must not be empty'
        : `must ${amountOf(issue.origin, `at least ${issue.minimum}`)}`;
    case 'too_big':
      return `must ${amountOf(issue.origin, `at most ${issue.maximum}`)}`;
    case 'not_multiple_of':
      return `must be a multiple of ${issue.divisor}`;
    case 'invalid_format':
      return describeFormat(issue);
    default:
      return 'is not allowed here';
  }
}

const nouns: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  object: 'an object with members',
  record: 'an object with members',
  array: 'a list',
  null: 'nothing',
  nan: 'no number',
  NaN: 'no number',
};

function describeType(expected: string, received = 'undefined'): string {
  const wanted = nouns[expected] ?? `a ${expected}`;
  if (received === 'undefined') return `is missing; give ${wanted}`;
  return `must be ${wanted}, but is ${nouns[received] ?? `a ${received}`}`;
}

function describeChoice(values: readonly unknown[]): string {
  const words = values.map(value => JSON.stringify(value) ?? String(value));
  return words.length === 1 ? `must be ${words[0]}` : `must be one of ${words.join(', ')}`;
}

function amountOf(origin: string, amount: string): string {
  if (origin === 'string') return `have ${amount} characters`;
  return ['array', 'set', 'map', 'record', 'object'].includes(origin)
    ? `have ${amount} entries`
    : `be ${amount}`;
}

function describeFormat(issue: Extract<Issue, { code: 'invalid_format' }>): string {
  const { format, prefix, suffix, includes, pattern } = issue as typeof issue & Record<string, unknown>;
  if (format === 'starts_with') return `must start with "${String(prefix)}"`;
  if (format === 'ends_with') return `must end with "${String(suffix)}"`;
  if (format === 'includes') return `must include "${String(includes)}"`;
  if (format === 'url') return 'must be an address such as https://host:port';
  if (format === 'regex') return `must match the pattern ${String(pattern)}`;
  return `must be written as ${format}`;
}
