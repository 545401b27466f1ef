import type { Kit } from '../fixtures/kit.ts';
import type { Call } from './world.ts';

/** Two calls at the same time that a vendor may mix up, with the calls before them. */
export type Pair = { readonly before: readonly Call[]; readonly atOnce: readonly Call[] };

const create: Call = { kind: 'create', volume: 'v1', units: 1 };
const larger: Call = { kind: 'create', volume: 'v1', units: 3 };
const remove: Call = { kind: 'delete', volume: 'v1' };
const attach: Call = { kind: 'attach', volume: 'v1', node: 'n1' };
const attachElsewhere: Call = { kind: 'attach', volume: 'v1', node: 'n2' };
const detach: Call = { kind: 'detach', volume: 'v1', node: 'n1' };
const expand: Call = { kind: 'expand', volume: 'v1', units: 3 };
const expandLess: Call = { kind: 'expand', volume: 'v1', units: 2 };
const snapshot: Call = { kind: 'snapshot', snapshot: 's1', volume: 'v1' };
const snapshotOther: Call = { kind: 'snapshot', snapshot: 's1', volume: 'v2' };
const removeSnapshot: Call = { kind: 'unsnapshot', snapshot: 's1' };
const restore: Call = { kind: 'restore', volume: 'v2', snapshot: 's1' };
const createOther: Call = { kind: 'create', volume: 'v2', units: 1 };

const always: readonly Pair[] = [
  { before: [], atOnce: [create, larger] },
  { before: [create], atOnce: [remove, larger] },
  { before: [create], atOnce: [attach, remove] },
  { before: [create, attach], atOnce: [detach, remove] },
];
const attaching: readonly Pair[] = [
  { before: [create], atOnce: [attach, attachElsewhere] },
  { before: [create, attach], atOnce: [detach, attachElsewhere] },
];
const expanding: readonly Pair[] = [
  { before: [create], atOnce: [expand, expandLess] },
  { before: [create], atOnce: [expand, remove] },
  { before: [create], atOnce: [expand, attach] },
];
const snapshotting: readonly Pair[] = [
  { before: [create], atOnce: [snapshot, remove] },
  { before: [create], atOnce: [snapshot, attach] },
  { before: [create, createOther], atOnce: [snapshot, snapshotOther] },
  { before: [create, snapshot], atOnce: [removeSnapshot, snapshot] },
];
const restoring: readonly Pair[] = [
  { before: [create, snapshot], atOnce: [restore, removeSnapshot] },
  { before: [create, snapshot], atOnce: [restore, createOther] },
];

/** Lists the pairs of the operations that the vendor offers. Two nodes compete only for a volume that one at a time can have. */
export function pairsFor(kit: Pick<Kit, 'has' | 'isExclusive'>): readonly Pair[] {
  return [
    ...always,
    ...(kit.isExclusive() ? attaching : []),
    ...(kit.has('expand') ? expanding : []),
    ...(kit.has('snapshots') ? snapshotting : []),
    ...(kit.has('restore') ? restoring : []),
  ];
}
