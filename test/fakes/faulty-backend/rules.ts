/** The methods that change the storage. */
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

/** The calls that a rule can name: a backend's methods, and the deletion of a group, which can only crash. */
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

/** The points of an operation that can kill the gateway's process, in order. */
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

/** A fault: a delay in milliseconds, the death of the process at a point, or one of the simple faults. */
export type Fault =
  | { readonly fault: 'latency'; readonly minMs: number; readonly maxMs: number }
  | { readonly fault: 'crash'; readonly point: (typeof crashPoints)[number] }
  | { readonly fault: (typeof plainFaults)[number] };

/** The calls that a fault happens to: each with a chance from 0 to 1, every n-th, or only the n-th. */
type FaultCalls = { readonly chance: number } | { readonly every: number } | { readonly call: number };

/** A fault with its targets and its calls. Calls of all its targets are counted together. */
export type Rule = { readonly on: 'all' | readonly Target[] } & FaultCalls & Fault;

/** The targets of a rule that its fault can happen to. */
export function targetsOf({ on, fault }: Rule): ReadonlySet<Target> {
  return new Set((on === 'all' ? targets : on).filter(target => canHappen(fault, target)));
}

/** Limits crashes to claimed and recorded work, wrong sizes to methods that answer one, and partial pages to lists. */
function canHappen(fault: Fault['fault'], target: Target): boolean {
  if (fault === 'crash') return target === 'group-delete' || (changing as readonly Target[]).includes(target);
  if (fault === 'wrong-size') return target === 'create' || target === 'expand';
  if (fault === 'partial-page') return target === 'list' || target === 'snapshot-list';
  return target !== 'group-delete';
}
