/** The methods that change something. */
export const changing = [
  'create',
  'delete',
  'attach',
  'detach',
  'expand',
  'modify',
  'snapshot',
  'snapshot-delete',
  'group',
] as const;

/** What a rule can be about: the methods of a backend, and the deletion of a group, in which only crashes happen. */
const targets = [
  ...changing,
  'group-delete',
  'capacity',
  'volume-health',
  'list',
  'snapshot-list',
  'blocks',
] as const;

/** One of `targets`. */
export type Target = (typeof targets)[number];

/** Where the gateway's process can be made to die in an operation, in the order in which it gets there. */
export const crashPoints = ['before-intent', 'after-intent', 'after-commit', 'before-answer'] as const;

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

/** What happens: a delay of so many milliseconds, the death of the process at a point, or one of the plain faults. */
export type Fault =
  | { readonly fault: 'latency'; readonly leastMs: number; readonly mostMs: number }
  | { readonly fault: 'crash'; readonly point: (typeof crashPoints)[number] }
  | { readonly fault: (typeof plainFaults)[number] };

/** When: each call with a chance from 0 to 1, every so many calls, or the so many-th call alone. */
type When = { readonly chance: number } | { readonly every: number } | { readonly call: number };

/** To which calls what happens. All calls of its targets count together. */
export type Rule = { readonly on: 'all' | readonly Target[] } & When & Fault;

/** The targets of a rule to which its fault can happen. */
export function targetsOf({ on, fault }: Rule): ReadonlySet<Target> {
  return new Set((on === 'all' ? targets : on).filter(target => canHappen(fault, target)));
}

/** Crashes happen to claimed and recorded work, wrong sizes where one is answered, partial pages to lists. */
function canHappen(fault: Fault['fault'], target: Target): boolean {
  if (fault === 'crash') return target === 'group-delete' || (changing as readonly Target[]).includes(target);
  if (fault === 'wrong-size') return target === 'create' || target === 'expand';
  if (fault === 'partial-page') return target === 'list' || target === 'snapshot-list';
  return target !== 'group-delete';
}
