import type { ProblemCode } from '../../../src/api/problem.ts';
import type { Operation, Zone } from './operations.ts';

/** The content of a volume or snapshot: a value for each written slot. */
export type Content = ReadonlyMap<number, number>;

/** A volume that must exist. */
type ModelVolume = {
  readonly size: number;
  readonly from: string | undefined;
  readonly content: Content;
  readonly tier: string | undefined;
  readonly node: string | undefined;
  readonly zone: Zone;
};

/** A snapshot that must exist. */
export type ModelSnapshot = {
  readonly of: string;
  readonly size: number;
  readonly content: Content;
  readonly zone: Zone;
};

/** The zones with storage; the first one is the default. */
export const zones: readonly Zone[] = ['a', 'b'];

/** The zones that nodes report; other nodes report none. */
export const nodeZones: Readonly<Record<string, Zone>> = { n0: 'a' };

/** A group that must exist: the content of each member. */
type ModelGroup = readonly ModelSnapshot[];

/**
 * The objects that must exist, and the open requests that may or may not be done. Each resource has at most one open
 * request, and nothing that it depends on changes before it is done: a cluster's sidecars repeat the same request, too.
 */
export interface Model {
  readonly volumes: Map<string, ModelVolume>;
  readonly snapshots: Map<string, ModelSnapshot>;
  readonly groups: Map<string, ModelGroup>;
  readonly open: Map<string, Operation>;
  /** Returns the operation to request before this one: the operation itself if nothing that it needs is open. */
  next(operation: Operation): Operation;
  /** Returns the expected outcome without faults; only for a result of `next`. */
  expect(operation: Operation): 'ok' | ProblemCode;
  /** Records that the operation is done. */
  finish(operation: Operation): void;
  /** Records that the operation may be done. */
  leaveOpen(operation: Operation): void;
  /** Returns true if a node may write to the volume now, so that its content stays known. */
  isWritable(id: string): boolean;
}

/** Creates an empty model. `snapshotsHoldVolumes`: the storage keeps a volume as long as it has snapshots. */
export function createModel(snapshotsHoldVolumes = false): Model {
  const volumes = new Map<string, ModelVolume>();
  const snapshots = new Map<string, ModelSnapshot>();
  const groups = new Map<string, ModelGroup>();
  const open = new Map<string, Operation>();

  const copying = (id: string): Operation | undefined =>
    [...open.values()].find(operation => sourcesOf(operation).includes(id));

  /** Lists the snapshots that prevent the deletion of a volume. */
  const snapshotsOf = (id: string): readonly string[] =>
    snapshotsHoldVolumes ? [...snapshots].filter(([, { of }]) => of === id).map(([held]) => held) : [];

  /** Finds an open request that the operation needs. */
  function blocking(operation: Operation): Operation | undefined {
    const { id, kind } = operation;
    const needed = sourcesOf(operation).flatMap(source => [`life ${source}`, `size ${source}`]);
    needed.push(kind === 'create' ? `size ${id}` : `life ${id}`);
    if (kind === 'delete') needed.push(`nodes ${id}`, ...snapshotsOf(id).map(held => `life ${held}`));
    const others = needed.filter(aspect => aspect !== aspectOf(operation));
    const found = others.map(aspect => open.get(aspect)).find(other => other !== undefined);
    return found ?? (['delete', 'uncut', 'expand'].includes(kind) ? copying(id) : undefined);
  }

  const expectCreate = ({ id, size, from, zone }: Operation & { kind: 'create' }): 'ok' | ProblemCode => {
    const known = volumes.get(id);
    if (known)
      return known.from === from && known.size >= size && fits(zone, [known.zone]) ? 'ok' : 'ALREADY_EXISTS';
    const source = from === undefined ? undefined : (volumes.get(from) ?? snapshots.get(from));
    if (from !== undefined && !source) return 'NOT_FOUND';
    if (source && source.size > size) return 'OUT_OF_RANGE';
    return fits(zone, source ? [source.zone] : zones) ? 'ok' : 'RESOURCE_EXHAUSTED';
  };

  const expectCut = ({ id, of, zone }: Operation & { kind: 'snapshot' }): 'ok' | ProblemCode => {
    const known = snapshots.get(id);
    if (known) return known.of === of && fits(zone, [known.zone]) ? 'ok' : 'ALREADY_EXISTS';
    const volume = volumes.get(of);
    if (!volume) return 'NOT_FOUND';
    return fits(zone, [volume.zone]) ? 'ok' : 'RESOURCE_EXHAUSTED';
  };

  const expectGroup = ({ id, of }: Operation & { kind: 'group' }): 'ok' | ProblemCode => {
    const known = groups.get(id)?.map(member => member.of);
    if (known) return known.toSorted().join() === of.toSorted().join() ? 'ok' : 'ALREADY_EXISTS';
    return of.every(volume => volumes.has(volume)) ? 'ok' : 'NOT_FOUND';
  };

  return {
    volumes,
    snapshots,
    groups,
    open,
    next(operation) {
      // A deletion overtakes an open request of its volume, and may be done: only repeating it shows.
      const life = open.get(`life ${operation.id}`);
      if (life?.kind === 'delete' && aspectOf(operation) !== aspectOf(life)) return life;
      const own = open.get(aspectOf(operation));
      if (own && !supersedes(operation, own)) return own;
      // A volume whose creation is repeated may have existed all along, with its open requests.
      const free = own && operation.kind !== 'delete';
      return (free ? undefined : blocking(operation)) ?? operation;
    },
    expect(operation) {
      const { kind, id } = operation;
      const volume = volumes.get(id);
      if (kind === 'delete')
        return volume?.node === undefined && snapshotsOf(id).length === 0 ? 'ok' : 'FAILED_PRECONDITION';
      if (open.has(aspectOf(operation)) || undoes.has(kind)) return 'ok';
      if (kind === 'create') return expectCreate(operation);
      if (kind === 'snapshot') return expectCut(operation);
      if (kind === 'group') return expectGroup(operation);
      if (!volume) return 'NOT_FOUND';
      return kind === 'attach' && !canAttach(volume, operation.node) ? 'FAILED_PRECONDITION' : 'ok';
    },
    finish(operation) {
      open.delete(aspectOf(operation));
      apply({ volumes, snapshots, groups }, operation);
      if (operation.kind === 'delete')
        for (const aspect of ['size', 'tier', 'nodes']) open.delete(`${aspect} ${operation.id}`);
    },
    leaveOpen: operation => void open.set(aspectOf(operation), operation),
    isWritable: id => volumes.has(id) && !open.has(`life ${id}`) && !copying(id),
  };
}

/** Returns true if the requested zone, if any, is among the known ones. */
function fits(zone: Zone | undefined, known: readonly Zone[]): boolean {
  return zone === undefined || known.includes(zone);
}

/** Returns true if the volume is attached to this node, or is detached and reachable from it. */
function canAttach(volume: ModelVolume, node: string): boolean {
  if (volume.node !== undefined) return volume.node === node;
  return fits(nodeZones[node], [volume.zone]);
}

/** Names the aspect of a resource that an operation changes. */
function aspectOf({ kind, id }: Operation): string {
  if (kind === 'attach' || kind === 'detach') return `nodes ${id}`;
  if (kind === 'expand') return `size ${id}`;
  return kind === 'modify' ? `tier ${id}` : `life ${id}`;
}

/** Lists the sources that an operation copies. */
function sourcesOf(operation: Operation): readonly string[] {
  if (operation.kind === 'group') return operation.of;
  if (operation.kind === 'snapshot') return [operation.of];
  return operation.kind === 'create' && operation.from !== undefined ? [operation.from] : [];
}

/** Returns true if the operations concern no common resource. */
export function areApart(one: Operation, other: Operation): boolean {
  const about = new Set([one.id, ...sourcesOf(one)]);
  return ![other.id, ...sourcesOf(other)].some(id => about.has(id));
}

/** The operations that always succeed, because undoing nothing succeeds. */
const undoes: ReadonlySet<Operation['kind']> = new Set(['uncut', 'ungroup', 'detach']);

/** Returns true if the operation replaces an open one: a caller may stop, undo, or repeat its request. */
function supersedes(operation: Operation, own: Operation): boolean {
  if (JSON.stringify(operation) === JSON.stringify(own)) return true;
  if (operation.kind === 'delete') return own.kind === 'create';
  return operation.kind === 'detach' && own.kind === 'attach' && operation.node === own.node;
}

type Things = Pick<Model, 'volumes' | 'snapshots' | 'groups'>;

function apply(things: Things, operation: Operation): void {
  const { volumes, snapshots, groups } = things;
  const { kind, id } = operation;
  if (kind === 'delete') volumes.delete(id);
  if (kind === 'uncut') snapshots.delete(id);
  if (kind === 'ungroup') groups.delete(id);
  if (kind === 'create' && !volumes.has(id)) {
    const { size, from = '', zone: asked = 'a' } = operation;
    const source = volumes.get(from) ?? snapshots.get(from);
    const { content = new Map<number, number>(), zone = asked } = source ?? {};
    volumes.set(id, { size, from: operation.from, content, tier: undefined, node: undefined, zone });
  }
  if (kind === 'snapshot' || kind === 'group') cut(things, operation);
  const volume = volumes.get(id);
  if (volume) volumes.set(id, change(volume, operation));
}

/** Records the content of a snapshot; an existing one stays as it was. */
function cut({ volumes, snapshots, groups }: Things, operation: Operation): void {
  const { kind, id } = operation;
  const made = sourcesOf(operation).flatMap((of): ModelSnapshot[] => {
    const source = volumes.get(of);
    return source ? [{ of, size: source.size, content: source.content, zone: source.zone }] : [];
  });
  if (kind === 'group' && !groups.has(id)) groups.set(id, made);
  if (kind === 'snapshot' && !snapshots.has(id)) for (const snapshot of made) snapshots.set(id, snapshot);
}

function change(volume: ModelVolume, operation: Operation): ModelVolume {
  const { kind } = operation;
  if (kind === 'expand') return { ...volume, size: Math.max(volume.size, operation.size) };
  if (kind === 'modify') return { ...volume, tier: operation.tier };
  if (kind === 'attach') return { ...volume, node: operation.node };
  return kind === 'detach' && volume.node === operation.node ? { ...volume, node: undefined } : volume;
}
