import type { Quota } from '../../../../../gateway/callers/cluster.ts';
import { clusterOf } from '../../../../../src/api/ids.ts';
import type { ProblemCode } from '../../../../../src/api/problem.ts';
import type { Grant as ApiGrant } from '../../../../../src/api/volume.ts';

export const mebibyte = 2 ** 20;

export const quotas = {
  a: { volumes: 2, bytes: 4 * mebibyte },
  b: { bytes: 6 * mebibyte, pools: { main: { bytes: 4 * mebibyte, volumes: 2 } } },
  c: undefined,
} as const satisfies Record<string, Quota | undefined>;

export type Name = keyof typeof quotas;

/** The clusters whose shares each one accepts. */
export const sharesFrom: Readonly<Record<Name, readonly Name[]>> = { a: ['b'], b: ['a', 'c'], c: [] };

export type Access = ApiGrant['access'];

type Grant = { readonly access: Access; readonly revoking: boolean; readonly byOperator: boolean };
type ModelAttachment = { readonly cluster: string; readonly node: string; readonly readonly: boolean };

/** An existing volume, with its size in MiB; `storage` is its name in the storage. */
export type Volume = {
  readonly storage: string;
  readonly size: number;
  readonly grants: Readonly<Record<string, Grant>>;
  /** The clusters that may copy it. True: an operator said so. */
  readonly copiers: Readonly<Record<string, boolean>>;
  /** The source that it was copied from. */
  readonly source?: string | undefined;
  readonly attached: readonly ModelAttachment[];
};

/** The existing volumes by id; `moved` has the new ids of transferred ones. */
export type State = {
  readonly volumes: Readonly<Record<string, Volume>>;
  readonly moved: Readonly<Record<string, string>>;
};

type Kind<K, F> = K extends string ? Readonly<{ kind: K; id: string } & F> : never;

/** The requests of clusters, or of an operator if no cluster is named; sizes in MiB. */
export type Operation =
  | Kind<'create' | 'expand', { by: Name; size: number }>
  | Kind<'delete', { by: Name }>
  | Kind<'attach', { by: Name; node: string; readonly: boolean }>
  | Kind<'detach', { by: Name; node: string }>
  | Kind<'grant', { by: Name | undefined; to: Name; access: Access }>
  | Kind<'revoke', { by: Name | undefined; to: Name }>
  | Kind<'grant copies' | 'revoke copies', { by: Name | undefined; to: Name }>
  | Kind<'copy', { by: Name; from: string }>
  | Kind<'force revoke' | 'transfer', { to: Name }>;

type OperationOf<K extends Operation['kind']> = Operation & { readonly kind: K };

/** The required answer of an operation, and the state after it. */
export type Outcome = { readonly code: 'ok' | ProblemCode; readonly state: State };

/** Returns the outcome of an operation without faults and concurrency. */
export function outcomeOf(state: State, operation: Operation): Outcome {
  const { kind, id } = operation;
  if (kind === 'create') return create(state, operation);
  if (kind === 'transfer') return transfer(state, operation);
  if (kind === 'copy') return copy(state, operation);
  if (kind === 'grant copies' || kind === 'revoke copies') return changeCopiers(state, operation);
  const refused = accessProblem(state, operation);
  const volume = state.volumes[id];
  if (refused !== undefined || !volume) return { code: refused ?? 'ok', state };
  if (kind === 'attach') return attach(state, operation, volume);
  if (kind === 'detach') return done(state, id, without(volume, operation.by, operation.node));
  if (kind === 'expand') return expand(state, operation, volume);
  if (kind === 'grant') return grant(state, operation, volume);
  if (kind === 'delete') return remove(state, id, volume);
  return revoke(state, operation, volume);
}

/**
 * Returns the reason for a refusal or immediate answer that depends only on access: the volume is another cluster's, or
 * missing.
 */
function accessProblem({ volumes }: State, operation: Operation): Outcome['code'] | undefined {
  const { kind, id } = operation;
  const volume = volumes[id];
  const by = 'by' in operation ? operation.by : undefined;
  const isRevoked = kind === 'revoke' || kind === 'force revoke';
  if (isRevoked && clusterOf(id) === operation.to) return 'INVALID_ARGUMENT';
  const isLeaving = kind === 'revoke' && by === operation.to;
  const isOwn = by === undefined || isLeaving || clusterOf(id) === by;
  if (!isOwn && !isVisible({ volumes }, id, by))
    return ['delete', 'detach'].includes(kind) ? 'ok' : 'NOT_FOUND';
  if (!isOwn && !['attach', 'detach'].includes(kind)) return 'FAILED_PRECONDITION';
  return !volume && ['attach', 'expand', 'grant'].includes(kind) ? 'NOT_FOUND' : undefined;
}

/** Lists the possible states after an operation that ended in the middle, in addition to those before and after it. */
export function partsOf(state: State, operation: Operation): readonly State[] {
  const { kind, id } = operation;
  const volume = state.volumes[id];
  if (!volume || (kind !== 'transfer' && kind !== 'force revoke')) return [];
  if (outcomeOf(state, operation).code !== 'ok') return [];
  const { to } = operation;
  const isClosed = ({ cluster }: ModelAttachment): boolean => kind === 'transfer' || cluster === to;
  const left = subsetsOf(volume.attached.filter(isClosed)).map(closed =>
    volume.attached.filter(one => !closed.includes(one)),
  );
  const given = volume.grants[to];
  const grants =
    kind === 'force revoke' && given
      ? [volume.grants, { ...volume.grants, [to]: { ...given, revoking: true } }]
      : [volume.grants];
  return left.flatMap(attached =>
    grants.map(each => done(state, id, { ...volume, attached, grants: each }).state),
  );
}

/** Returns true if the cluster sees the volume. */
export function isVisible({ volumes }: Pick<State, 'volumes'>, id: string, cluster: Name): boolean {
  const [owner, given] = [clusterOf(id), volumes[id]?.grants[cluster]];
  const isAgreed = given?.byOperator || sharesFrom[cluster].some(from => from === owner);
  return id in volumes && (owner === cluster || (given !== undefined && isAgreed));
}

/** Returns the usage of the cluster, as its quotas count it. */
export function usageOf({ volumes }: State, cluster: string) {
  const own = Object.entries(volumes).filter(([id]) => clusterOf(id) === cluster);
  return { volumes: own.length, bytes: own.reduce((sum, [, { size }]) => sum + size, 0) * mebibyte };
}

function create(state: State, { by, id, size }: OperationOf<'create'>): Outcome {
  const known = state.volumes[id];
  if (clusterOf(id) !== by) return { code: 'NOT_FOUND', state };
  const isSame = known && known.source === undefined && known.size >= size;
  if (known) return { code: isSame ? 'ok' : 'ALREADY_EXISTS', state };
  if (atStorage(state, id)) return { code: 'FAILED_PRECONDITION', state };
  if (!hasRoom(state, by, { volumes: 1, size })) return { code: 'RESOURCE_EXHAUSTED', state };
  const made = done(state, id, { storage: id, size, grants: {}, copiers: {}, attached: [] });
  return { ...made, state: { ...made.state, moved: omit(state.moved, id) } };
}

function copy(state: State, { by, id, from }: OperationOf<'copy'>): Outcome {
  const { [id]: known, [from]: origin } = state.volumes;
  const [owner = '', isBegun] = [clusterOf(from), known?.source === from];
  if (clusterOf(id) !== by) return { code: 'NOT_FOUND', state };
  if (owner !== by && !isBegun && !isGranted(origin?.copiers[by], sharesFrom[by].includes(owner as Name)))
    return { code: isVisible(state, from, by) ? 'FAILED_PRECONDITION' : 'NOT_FOUND', state };
  if (known) return { code: isBegun ? 'ok' : 'ALREADY_EXISTS', state };
  if (!origin) return { code: 'NOT_FOUND', state };
  if (atStorage(state, id)) return { code: 'FAILED_PRECONDITION', state };
  const { size } = origin;
  if (!hasRoom(state, by, { volumes: 1, size })) return { code: 'RESOURCE_EXHAUSTED', state };
  const made = { storage: id, size, grants: {}, copiers: {}, attached: [], source: from };
  const after = done(state, id, made);
  return { ...after, state: { ...after.state, moved: omit(state.moved, id) } };
}

function isGranted(byOperator: boolean | undefined, isAgreed: boolean): boolean {
  return byOperator !== undefined && (byOperator || isAgreed);
}

function changeCopiers(
  state: State,
  { kind, by, id, to }: OperationOf<'grant copies' | 'revoke copies'>,
): Outcome {
  const [owner, volume] = [clusterOf(id), state.volumes[id]];
  if (by !== undefined && by !== owner)
    return { code: isVisible(state, id, by) ? 'FAILED_PRECONDITION' : 'NOT_FOUND', state };
  if (owner === to) return { code: 'INVALID_ARGUMENT', state };
  const isGrant = kind === 'grant copies';
  if (!volume) return { code: isGrant ? 'NOT_FOUND' : 'ok', state };
  const byOperator = by === undefined || volume.copiers[to] === true;
  const copiers = isGrant ? { ...volume.copiers, [to]: byOperator } : omit(volume.copiers, to);
  return done(state, id, { ...volume, copiers });
}

function expand(state: State, { by, id, size }: OperationOf<'expand'>, volume: Volume): Outcome {
  const more = Math.max(0, size - volume.size);
  if (!hasRoom(state, by, { volumes: 0, size: more })) return { code: 'RESOURCE_EXHAUSTED', state };
  return done(state, id, { ...volume, size: volume.size + more });
}

function attach(state: State, { by, id, node, readonly }: OperationOf<'attach'>, volume: Volume): Outcome {
  const given = volume.grants[by];
  if (given && (given.revoking || (given.access === 'read-only' && !readonly)))
    return { code: 'FAILED_PRECONDITION', state };
  const before = volume.attached.find(one => one.cluster === by && one.node === node);
  if (before) return { code: before.readonly === readonly ? 'ok' : 'ALREADY_EXISTS', state };
  const isFree = volume.attached.every(one => readonly && one.readonly);
  if (!isFree) return { code: 'FAILED_PRECONDITION', state };
  return done(state, id, { ...volume, attached: [...volume.attached, { cluster: by, node, readonly }] });
}

function grant(state: State, { by, id, to, access }: OperationOf<'grant'>, volume: Volume): Outcome {
  if (clusterOf(id) === to) return { code: 'INVALID_ARGUMENT', state };
  const isWriting = volume.attached.some(one => one.cluster === to && !one.readonly);
  const before = volume.grants[to];
  const { access: known, revoking = false } = before ?? {};
  const byOperator = by === undefined || before?.byOperator === true;
  if (access === 'read-only' && isWriting && (known !== access || revoking))
    return { code: 'FAILED_PRECONDITION', state };
  const given = { access, byOperator, revoking: false };
  return done(state, id, { ...volume, grants: { ...volume.grants, [to]: given } });
}

function revoke(
  state: State,
  { kind, id, to }: OperationOf<'revoke' | 'force revoke'>,
  volume: Volume,
): Outcome {
  const isHeld = volume.attached.some(({ cluster }) => cluster === to);
  if (kind === 'revoke' && isHeld) return { code: 'FAILED_PRECONDITION', state };
  return done(state, id, { ...without(volume, to), grants: omit(volume.grants, to) });
}

function remove({ volumes, moved }: State, id: string, { attached, grants }: Volume): Outcome {
  const isNeeded = attached.length > 0 || Object.keys(grants).length > 0;
  if (isNeeded) return { code: 'FAILED_PRECONDITION', state: { volumes, moved } };
  return { code: 'ok', state: { volumes: omit(volumes, id), moved: omit(moved, id) } };
}

function transfer(state: State, { id, to }: OperationOf<'transfer'>): Outcome {
  const { volumes, moved } = state;
  const volume = volumes[id];
  const next = `${to}${id.slice(id.indexOf('.'))}`;
  if (!volume) return { code: moved[id] === next && next in volumes ? 'ok' : 'NOT_FOUND', state };
  if (clusterOf(id) === to) return { code: 'INVALID_ARGUMENT', state };
  if (Object.keys(volume.grants).some(cluster => cluster !== to))
    return { code: 'FAILED_PRECONDITION', state };
  const taken = next in volumes || (atStorage(state, next) ?? id) !== id;
  if (taken) return { code: 'ALREADY_EXISTS', state };
  if (!hasRoom(state, to, { volumes: 1, size: volume.size })) return { code: 'RESOURCE_EXHAUSTED', state };
  const given = done({ volumes: omit(volumes, id), moved }, next, {
    ...volume,
    grants: {},
    copiers: {},
    attached: [],
  });
  return { ...given, state: { ...given.state, moved: { ...moved, [id]: next } } };
}

/** Returns true if the cluster may have this much more; a request that adds nothing is not checked. */
function hasRoom(
  state: State,
  cluster: Name,
  more: { readonly volumes: number; readonly size: number },
): boolean {
  const usage = usageOf(state, cluster);
  const { pools = {}, ...all }: Quota = quotas[cluster] ?? {};
  return [all, ...Object.values(pools)].every(
    ({ volumes = Infinity, bytes = Infinity }) =>
      (more.volumes === 0 || usage.volumes + more.volumes <= volumes) &&
      (more.size === 0 || usage.bytes + more.size * mebibyte <= bytes),
  );
}

/** Returns the id of the volume with this name in the storage. */
function atStorage({ volumes }: State, storage: string): string | undefined {
  return Object.keys(volumes).find(id => volumes[id]?.storage === storage);
}

/** Returns the volume without the cluster's attachments, at one node or at all. */
function without(volume: Volume, cluster: string, node?: string): Volume {
  const isLeft = (one: ModelAttachment): boolean =>
    one.cluster !== cluster || one.node !== (node ?? one.node);
  return { ...volume, attached: volume.attached.filter(isLeft) };
}

function done(state: State, id: string, volume: Volume | undefined): Outcome {
  return { code: 'ok', state: volume ? { ...state, volumes: { ...state.volumes, [id]: volume } } : state };
}

function omit<T>(record: Readonly<Record<string, T>>, key: string): Readonly<Record<string, T>> {
  const { [key]: _, ...others } = record;
  return others;
}

function subsetsOf(all: readonly ModelAttachment[]): readonly (readonly ModelAttachment[])[] {
  const [first, ...others] = all;
  if (first === undefined) return [[]];
  return subsetsOf(others).flatMap(subset => [subset, [first, ...subset]]);
}
