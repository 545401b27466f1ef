/** What a rule can be about: the methods of a backend, and the deletion of a group, in which only crashes happen. */
export const targets = [
  'create',
  'delete',
  'attach',
  'detach',
  'expand',
  'modify',
  'snapshot',
  'snapshot-delete',
  'group',
  'group-delete',
  'capacity',
  'health',
  'volume-health',
  'list',
  'snapshot-list',
  'blocks',
] as const;

/** One of `targets`. */
export type Target = (typeof targets)[number];

/** Where the gateway's process can be made to die in an operation, in the order in which it gets there. */
export const crashPoints = ['before-intent', 'after-intent', 'after-commit', 'before-answer'] as const;

/** Those whose answer holds a size that the gateway must not believe. */
const sized: ReadonlySet<Target> = new Set(['create', 'expand']);
/** Those that answer with a list of what is there. */
const listing: ReadonlySet<Target> = new Set(['list', 'snapshot-list']);
/** Those that the gateway does as claimed and recorded work. */
const worked: ReadonlySet<Target> = new Set(targets.slice(0, 10));

/** Whether such a fault can happen to the target at all. */
export function canHappen(fault: string, target: Target): boolean {
  if (fault === 'crash') return worked.has(target);
  if (target === 'group-delete') return false;
  if (fault === 'wrong-size') return sized.has(target);
  return fault !== 'partial-page' || listing.has(target);
}
