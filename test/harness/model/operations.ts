import { constant, constantFrom, integer, nat, oneof, subarray, tuple, type Arbitrary } from 'fast-check';
import { crashPoints } from '../../fakes/faulty-backend/rules.ts';
import { some } from './some.ts';

type Kind<K, F = object> = K extends string ? Readonly<{ kind: K; id: string } & F> : never;

/**
 * The requests of a cluster; sizes in MiB. `from` is the id of a volume's source, `zone` the required zone; there is no
 * zone c.
 */
export type Operation =
  | Kind<'create', { size: number; from: string | undefined; zone: Zone | undefined }>
  | Kind<'delete' | 'uncut' | 'ungroup'>
  | Kind<'attach' | 'detach', { node: string }>
  | Kind<'snapshot', { of: string; zone: Zone | undefined }>
  | Kind<'group', { of: readonly string[] }>
  | Kind<'expand', { size: number }>
  | Kind<'modify', { tier: string }>;

/** An event at two gateways on one store: a request to one of them, or something else. */
export type Event = {
  /** The index of the gateway. */
  readonly at: number;
} & (
  | { readonly kind: 'ask'; readonly operation: Operation; readonly crash?: Point | undefined }
  | { readonly kind: 'pair'; readonly operations: readonly [Operation, Operation] }
  | { readonly kind: 'write'; readonly id: string; readonly slot: number; readonly value: number }
  | { readonly kind: 'list' | 'sweep' }
);

/** The zones that a request can name. */
export type Zone = 'a' | 'b' | 'c';

type Point = (typeof crashPoints)[number];

const volumes = ['a.v0', 'a.v1', 'a.v2', 'a.v3'];
const volume = constantFrom(...volumes);
const group = constantFrom('a.g0', 'a.g1');
const snapshot = constantFrom('a.s0', 'a.s1', 'a.s2');
const node = constantFrom('n0', 'n1');
const zone = constantFrom<Zone | undefined>(undefined, undefined, undefined, 'a', 'b', 'c');
const sources = oneof(volume, snapshot);
const groupOf = subarray(volumes, { minLength: 1, maxLength: 3 });

const operation: Arbitrary<Operation> = oneof(
  some(5, 'create', { id: volume, size: constantFrom(1, 2, 3), from: constant(undefined), zone }),
  some(4, 'create', { id: volume, size: constantFrom(2, 3, 4), from: sources, zone }),
  some(3, 'delete', { id: volume }),
  some(2, 'uncut', { id: snapshot }),
  some(4, 'attach', { id: volume, node }),
  some(4, 'detach', { id: volume, node }),
  some(5, 'snapshot', { id: snapshot, of: volume, zone }),
  some(4, 'group', { id: group, of: groupOf }),
  some(2, 'ungroup', { id: group }),
  some(3, 'expand', { id: volume, size: constantFrom(2, 3, 4) }),
  some(3, 'modify', { id: volume, tier: constantFrom('standard', 'fast') }),
);

const at = constantFrom(0, 1);

/** Two concurrent requests, very often equal ones. */
const pair: Arbitrary<readonly [Operation, Operation]> = oneof(
  tuple(operation, operation),
  operation.map(asked => [asked, asked] as const),
);

/** Generates events, crashes among them. */
export const event: Arbitrary<Event> = oneof(
  some(20, 'ask', { at, operation }),
  some(4, 'ask', { at, operation, crash: constantFrom(...crashPoints) }),
  some(8, 'pair', { at, operations: pair }),
  some(5, 'write', { at, id: volume, slot: nat(7), value: integer({ min: 1, max: 255 }) }),
  some(1, 'list', { at }),
  some(1, 'sweep', { at }),
);
