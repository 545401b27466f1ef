import { boolean, constant, constantFrom, nat, oneof, record, tuple, type Arbitrary } from 'fast-check';
import { crashPoints } from '../../../../fakes/faulty-backend/rules.ts';
import { some } from '../../../../harness/model/some.ts';
import { quotas, type Access, type Name, type Operation, type State } from './rules.ts';

/** A request in draft; `aim` chooses its volume, and `isAllowed` makes a permitted caller send it. */
export type Draft = { readonly operation: Operation; readonly aim: number; readonly isAllowed: boolean };

/** A request to one of two gateways, which may die of it, or two concurrent requests, one to each. */
export type Event =
  | {
      readonly kind: 'ask';
      readonly at: number;
      readonly drafts: readonly [Draft];
      readonly crash?: Crash | undefined;
    }
  | { readonly kind: 'pair'; readonly drafts: readonly [Draft, Draft] };

type Crash = (typeof crashPoints)[number];

const names = Object.keys(quotas) as Name[];
const name = constantFrom(...names);
const operator = constant(undefined);
const asker = oneof({ weight: 3, arbitrary: name }, { weight: 1, arbitrary: operator });
const id = constantFrom('a.v0', 'a.v1', 'a.v2', 'b.v0', 'b.v1', 'b.v2', 'c.v0');
const size = constantFrom(1, 2, 3);
const access = constantFrom<Access>('read-only', 'read-write');

const operation: Arbitrary<Operation> = oneof(
  some(7, 'create', { by: name, id, size }),
  some(2, 'delete', { by: name, id }),
  some(3, 'expand', { by: name, id, size: constantFrom(2, 3, 4) }),
  some(8, 'attach', { by: name, id, node: constantFrom('n0', 'n1'), readonly: boolean() }),
  some(2, 'detach', { by: name, id, node: constantFrom('n0', 'n1') }),
  some(6, 'grant', { by: asker, id, to: name, access }),
  some(3, 'revoke', { by: asker, id, to: name }),
  some(5, 'grant copies', { by: asker, id, to: name }),
  some(2, 'revoke copies', { by: asker, id, to: name }),
  some(7, 'copy', { by: name, id, from: id }),
  some(2, 'force revoke', { id, to: name }),
  some(7, 'transfer', { id, to: name }),
);

/** An aim at no particular volume. */
const nowhere = 100;

const draft: Arbitrary<Draft> = record({
  operation,
  aim: nat(nowhere * 1.2),
  isAllowed: nat(3).map(die => die > 0),
});

/** Generates events. Many concurrent requests concern the same volume, or are equal. */
export const event: Arbitrary<Event> = oneof(
  { weight: 10, arbitrary: asking(constant(undefined)) },
  { weight: 2, arbitrary: asking(constantFrom(...crashPoints)) },
  {
    weight: 6,
    arbitrary: record({
      kind: constant('pair'),
      drafts: oneof(
        tuple(draft, draft),
        draft.map(one => [one, one] as const),
        tuple(draft, draft).map(([one, other]) => [one, { ...other, aim: one.aim }] as const),
      ),
    }),
  },
);

/** Makes the request of a draft: most aim at an existing volume, and most of these come from a permitted caller. */
export function aimAt({ volumes }: State, { operation: one, aim, isAllowed }: Draft): Operation {
  const there = Object.keys(volumes).sort();
  const found = one.kind === 'create' || aim >= nowhere ? undefined : there[aim % there.length];
  if (one.kind === 'copy') return aimCopy({ volumes }, { operation: one, aim, isAllowed }, found);
  const aimed = { ...one, id: found ?? one.id };
  if (!('by' in aimed) || aimed.by === undefined || !isAllowed) return aimed;
  const isShared = aimed.kind === 'attach' || aimed.kind === 'detach';
  const holders = isShared ? Object.keys(volumes[aimed.id]?.grants ?? {}) : [];
  return { ...aimed, by: (holders[aim % (holders.length + 1)] ?? ownerOf(aimed.id)) as Name };
}

/** Most copies of an existing volume are made by its owner, or by a cluster that was granted copies. */
function aimCopy(
  { volumes }: Pick<State, 'volumes'>,
  { operation: one, aim, isAllowed }: Draft,
  found = one.id,
): Operation {
  const holders = [...Object.keys(volumes[found]?.copiers ?? {}), ownerOf(found)];
  const by = (holders[aim % holders.length] ?? '') as Name;
  const target = isAllowed ? `${by}${one.id.slice(one.id.indexOf('.'))}` : one.id;
  return { kind: 'copy', by, id: target, from: found };
}

function ownerOf(volumeId: string): Name {
  return volumeId.slice(0, volumeId.indexOf('.')) as Name;
}

function asking(crash: Arbitrary<Crash | undefined>): Arbitrary<Event> {
  return record({ kind: constant('ask'), at: nat(1), drafts: tuple(draft), crash });
}
