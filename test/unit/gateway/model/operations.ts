import {
  constant,
  constantFrom,
  integer,
  nat,
  oneof,
  record,
  subarray,
  tuple,
  type Arbitrary,
} from 'fast-check';
import { crashPoints } from '../../../fakes/faulty-backend/rules.ts';

/**
 * What a cluster can ask; sizes in MiB. `from` is the id of what a volume is filled from, `zone` the one in which it must
 * be; there is no zone c.
 */
export type Operation =
  | {
      readonly kind: 'create';
      readonly id: string;
      readonly size: number;
      readonly from: string | undefined;
      readonly zone: Zone | undefined;
    }
  | { readonly kind: 'delete'; readonly id: string }
  | { readonly kind: 'uncut'; readonly id: string }
  | { readonly kind: 'ungroup'; readonly id: string }
  | { readonly kind: 'attach' | 'detach'; readonly id: string; readonly node: string }
  | {
      readonly kind: 'snapshot';
      readonly id: string;
      readonly of: string;
      readonly zone: Zone | undefined;
    }
  | { readonly kind: 'group'; readonly id: string; readonly of: readonly string[] }
  | { readonly kind: 'expand'; readonly id: string; readonly size: number }
  | { readonly kind: 'modify'; readonly id: string; readonly tier: string };

/** Something that happens to two gateways on one store: what is asked of one of them, and what else may come. */
export type Event = {
  /** Which of the gateways. */
  readonly at: number;
} & (
  | { readonly kind: 'ask'; readonly operation: Operation; readonly crash?: Point | undefined }
  | { readonly kind: 'pair'; readonly operations: readonly [Operation, Operation] }
  | { readonly kind: 'write'; readonly id: string; readonly slot: number; readonly value: number }
  | { readonly kind: 'list' | 'sweep' }
);

/** Where something can be asked to be. */
export type Zone = 'a' | 'b' | 'c';

type Point = (typeof crashPoints)[number];

const volumes = ['a.v0', 'a.v1', 'a.v2', 'a.v3'];
const volume = constantFrom(...volumes);
const group = constantFrom('a.g0', 'a.g1');
const snapshot = constantFrom('a.s0', 'a.s1', 'a.s2');
const size = constantFrom(1, 2, 3);
const node = constantFrom('n0', 'n1');
const zone = constantFrom<Zone | undefined>(undefined, undefined, undefined, 'a', 'b', 'c');

const operation: Arbitrary<Operation> = oneof(
  {
    weight: 5,
    arbitrary: record({
      kind: constant('create' as const),
      id: volume,
      size,
      from: constant(undefined),
      zone,
    }),
  },
  {
    weight: 4,
    arbitrary: record({
      kind: constant('create' as const),
      id: volume,
      size: constantFrom(2, 3, 4),
      from: oneof(volume, snapshot),
      zone,
    }),
  },
  { weight: 3, arbitrary: record({ kind: constant('delete' as const), id: volume }) },
  { weight: 2, arbitrary: record({ kind: constant('uncut' as const), id: snapshot }) },
  {
    weight: 8,
    arbitrary: record({ kind: constantFrom('attach' as const, 'detach' as const), id: volume, node }),
  },
  { weight: 5, arbitrary: record({ kind: constant('snapshot' as const), id: snapshot, of: volume, zone }) },
  {
    weight: 4,
    arbitrary: record({
      kind: constant('group' as const),
      id: group,
      of: subarray(volumes, { minLength: 1, maxLength: 3 }),
    }),
  },
  { weight: 2, arbitrary: record({ kind: constant('ungroup' as const), id: group }) },
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

/** Two things asked at once: very often the same one. */
const pair: Arbitrary<readonly [Operation, Operation]> = oneof(
  tuple(operation, operation),
  operation.map(asked => [asked, asked] as const),
);

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
  { weight: 8, arbitrary: record({ at, kind: constant('pair' as const), operations: pair }) },
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
