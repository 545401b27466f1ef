import { constant, constantFrom, integer, nat, oneof, record, type Arbitrary } from 'fast-check';
import { crashPoints } from '../../../gateway/backends/faulty/methods.ts';

/** What a cluster can ask; sizes in MiB. `from` is the id of what a volume is filled from. */
export type Operation =
  | { readonly kind: 'create'; readonly id: string; readonly size: number; readonly from: string | undefined }
  | { readonly kind: 'delete'; readonly id: string }
  | { readonly kind: 'uncut'; readonly id: string }
  | { readonly kind: 'attach' | 'detach'; readonly id: string; readonly node: string }
  | { readonly kind: 'snapshot'; readonly id: string; readonly of: string }
  | { readonly kind: 'expand'; readonly id: string; readonly size: number }
  | { readonly kind: 'modify'; readonly id: string; readonly tier: string };

/** Something that happens to two gateways on one store: what is asked of one of them, and what else may come. */
export type Event = {
  /** Which of the gateways. */
  readonly at: number;
} & (
  | { readonly kind: 'ask'; readonly operation: Operation; readonly crash?: Point | undefined }
  | { readonly kind: 'write'; readonly id: string; readonly slot: number; readonly value: number }
  | { readonly kind: 'list' | 'sweep' }
);

type Point = (typeof crashPoints)[number];

const volume = constantFrom('a.v0', 'a.v1', 'a.v2', 'a.v3');
const snapshot = constantFrom('a.s0', 'a.s1', 'a.s2');
const size = constantFrom(1, 2, 3);
const node = constantFrom('n0', 'n1');

const operation: Arbitrary<Operation> = oneof(
  {
    weight: 5,
    arbitrary: record({
      kind: constant('create' as const),
      id: volume,
      size,
      from: constant(undefined),
    }),
  },
  {
    weight: 4,
    arbitrary: record({
      kind: constant('create' as const),
      id: volume,
      size: constantFrom(2, 3, 4),
      from: oneof(volume, snapshot),
    }),
  },
  { weight: 3, arbitrary: record({ kind: constant('delete' as const), id: volume }) },
  { weight: 2, arbitrary: record({ kind: constant('uncut' as const), id: snapshot }) },
  {
    weight: 8,
    arbitrary: record({ kind: constantFrom('attach' as const, 'detach' as const), id: volume, node }),
  },
  { weight: 5, arbitrary: record({ kind: constant('snapshot' as const), id: snapshot, of: volume }) },
  {
    weight: 3,
    arbitrary: record({
      kind: constant('expand' as const),
      id: volume,
      size: constantFrom(2, 3, 4),
    }),
  },
  {
    weight: 3,
    arbitrary: record({
      kind: constant('modify' as const),
      id: volume,
      tier: constantFrom('standard', 'fast'),
    }),
  },
);

const at = constantFrom(0, 1);

/** Any event, crashes among them. */
export const event: Arbitrary<Event> = oneof(
  { weight: 20, arbitrary: record({ at, kind: constant('ask' as const), operation }) },
  {
    weight: 4,
    arbitrary: record({
      at,
      kind: constant('ask' as const),
      operation,
      crash: constantFrom(...crashPoints),
    }),
  },
  {
    weight: 5,
    arbitrary: record({
      at,
      kind: constant('write' as const),
      id: volume,
      slot: nat(7),
      value: integer({ min: 1, max: 255 }),
    }),
  },
  { weight: 2, arbitrary: record({ at, kind: constantFrom('list' as const, 'sweep' as const) }) },
);
