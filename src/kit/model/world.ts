import type { ProblemCode } from '../../api/problem.ts';

/**
 * The model of the vendor's state: volumes, the node of each attached volume, and the volume of each snapshot. Sizes are in
 * units of a small volume: `units` is the min size, `requestedUnits` the size in the create request. `from` is the source snapshot.
 */
export type World = {
  readonly volumes: Readonly<
    Record<string, { readonly units: number; readonly requestedUnits: number; readonly from?: string }>
  >;
  readonly nodes: Readonly<Record<string, string>>;
  readonly snapshots: Readonly<Record<string, string>>;
};

/** One call on a resource, by its short name. */
export type Call =
  | { readonly kind: 'create'; readonly volume: string; readonly units: number }
  | { readonly kind: 'restore'; readonly volume: string; readonly snapshot: string }
  | { readonly kind: 'delete' | 'read'; readonly volume: string }
  | { readonly kind: 'attach' | 'detach'; readonly volume: string; readonly node: string }
  | { readonly kind: 'expand'; readonly volume: string; readonly units: number }
  | { readonly kind: 'snapshot'; readonly snapshot: string; readonly volume: string }
  | { readonly kind: 'unsnapshot'; readonly snapshot: string };

/** One allowed outcome: the code of the problem, absent for success, and the world afterwards. */
export type Outcome = { readonly code?: ProblemCode; readonly world: World };

export const emptyWorld: World = { volumes: {}, nodes: {}, snapshots: {} };

/** Lists every outcome that the rules allow for the call in this world. */
export function outcomesOf(world: World, call: Call): readonly Outcome[] {
  const refused = (code: ProblemCode): Outcome => ({ code, world });
  const same: Outcome = { world };
  if (call.kind === 'unsnapshot') return unsnapshot(world, call.snapshot);
  if (call.kind === 'snapshot') return snapshot(world, call);
  const known = world.volumes[call.volume];
  const node = world.nodes[call.volume];
  switch (call.kind) {
    case 'create':
    case 'restore':
      return create(world, call);
    case 'read':
      return [known ? same : refused('NOT_FOUND')];
    case 'delete':
      return remove(world, call.volume);
    case 'attach':
      return attach(world, call);
    case 'detach':
      return [node === call.node ? { world: { ...world, nodes: without(world.nodes, call.volume) } } : same];
    case 'expand':
      return expand(world, call);
  }
}

function attach(
  world: World,
  { volume, node }: Call & { readonly kind: 'attach' | 'detach' },
): readonly Outcome[] {
  if (!world.volumes[volume]) return [{ code: 'NOT_FOUND', world }];
  const holder = world.nodes[volume];
  if (holder === undefined) return [{ world: { ...world, nodes: { ...world.nodes, [volume]: node } } }];
  return [holder === node ? { world } : { code: 'FAILED_PRECONDITION', world }];
}

function expand(world: World, { volume, units }: Call & { readonly kind: 'expand' }): readonly Outcome[] {
  const known = world.volumes[volume];
  if (!known) return [{ code: 'NOT_FOUND', world }];
  if (known.units >= units) return [{ world }];
  const grown = { world: { ...world, volumes: { ...world.volumes, [volume]: { ...known, units } } } };
  return world.nodes[volume] === undefined ? [grown] : [grown, { code: 'FAILED_PRECONDITION', world }];
}

function create(world: World, call: Call & { readonly kind: 'create' | 'restore' }): readonly Outcome[] {
  const refused = (code: ProblemCode): Outcome => ({ code, world });
  const known = world.volumes[call.volume];
  const from = call.kind === 'restore' ? call.snapshot : undefined;
  const source = from === undefined ? undefined : world.snapshots[from];
  const isMissing = from !== undefined && source === undefined;
  if (!known) {
    if (isMissing) return [refused('NOT_FOUND')];
    // The model does not know the snapshot's size, which is the new volume's min size.
    const units = call.kind === 'create' ? call.units : 0;
    const made = { units, requestedUnits: units, ...(from !== undefined && { from }) };
    return [{ world: { ...world, volumes: { ...world.volumes, [call.volume]: made } } }];
  }
  const missing = isMissing ? [refused('NOT_FOUND')] : [];
  if (known.from !== from) return [refused('ALREADY_EXISTS'), ...missing];
  if (call.kind === 'restore' || known.requestedUnits === call.units) return [{ world }, ...missing];
  // The vendor decides whether a request for a smaller size counts as the same request.
  return known.units >= call.units ? [{ world }, refused('ALREADY_EXISTS')] : [refused('ALREADY_EXISTS')];
}

function remove(world: World, volume: string): readonly Outcome[] {
  if (!world.volumes[volume]) return [{ world }];
  const refused: Outcome = { code: 'FAILED_PRECONDITION', world };
  if (world.nodes[volume] !== undefined) return [refused];
  const gone: Outcome = { world: { ...world, volumes: without(world.volumes, volume) } };
  return Object.values(world.snapshots).includes(volume) ? [gone, refused] : [gone];
}

function snapshot(world: World, call: Call & { readonly kind: 'snapshot' }): readonly Outcome[] {
  const refused = (code: ProblemCode): Outcome => ({ code, world });
  const known = world.snapshots[call.snapshot];
  const missing = world.volumes[call.volume] ? [] : [refused('NOT_FOUND')];
  if (known === call.volume) return [{ world }, ...missing];
  if (known !== undefined) return [refused('ALREADY_EXISTS'), ...missing];
  if (missing.length > 0) return missing;
  const taken = { world: { ...world, snapshots: { ...world.snapshots, [call.snapshot]: call.volume } } };
  const isAttached = world.nodes[call.volume] !== undefined;
  return isAttached ? [taken, refused('FAILED_PRECONDITION')] : [taken];
}

function unsnapshot(world: World, id: string): readonly Outcome[] {
  const isSource = Object.values(world.volumes).some(({ from }) => from === id);
  const gone: Outcome = { world: { ...world, snapshots: without(world.snapshots, id) } };
  return isSource ? [gone, { code: 'FAILED_PRECONDITION', world }] : [gone];
}

function without<T>(all: Readonly<Record<string, T>>, key: string): Readonly<Record<string, T>> {
  const { [key]: _, ...rest } = all;
  return rest;
}

/** A call with the code of its problem, undefined for success. */
export type Observation = {
  readonly call: Call;
  readonly code: ProblemCode | undefined;
  /** True if an earlier request of the call was answered with 202, so that the call may have acted twice. */
  readonly isRepeated?: boolean | undefined;
};

/**
 * Lists the worlds that concurrent calls with these answers may leave, one for each order of the calls that explains them. A
 * repeated call acts once, or a second time at any later place.
 */
export function worldsAfter(world: World, observed: readonly Observation[]): readonly World[] {
  if (observed.length === 0) return [world];
  return observed.flatMap(({ call, code, isRepeated = false }, index) => {
    const all = outcomesOf(world, call);
    const last = all.filter(outcome => outcome.code === code);
    const once = last.flatMap(outcome => worldsAfter(outcome.world, observed.toSpliced(index, 1)));
    if (!isRepeated) return once;
    const again = observed.with(index, { call, code });
    return [...once, ...all.flatMap(outcome => worldsAfter(outcome.world, again))];
  });
}
