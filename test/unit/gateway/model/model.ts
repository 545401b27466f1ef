import type { ProblemCode } from '../../../../src/api/problem.ts';
import type { Operation, Zone } from './operations.ts';

/** What a volume or snapshot holds: a value for each slot that was written. */
export type Content = ReadonlyMap<number, number>;

/** A volume that must be there. */
export type ModelVolume = {
  readonly size: number;
  readonly from: string | undefined;
  readonly content: Content;
  readonly tier: string | undefined;
  readonly node: string | undefined;
  readonly zone: Zone;
};

/** A snapshot that must be there. */
export type ModelSnapshot = {
  readonly of: string;
  readonly size: number;
  readonly content: Content;
  readonly zone: Zone;
};

/** Where there is storage, the first being taken when nothing is asked. */
export const zones: readonly Zone[] = ['a', 'b'];

/** Where nodes say that they are; others say nothing. */
export const nodeZones: Readonly<Record<string, Zone>> = { n0: 'a' };

/** A group that must be there: what each member holds. */
export type ModelGroup = readonly ModelSnapshot[];

/**
 * What must be there, and what was asked and may or may not be done. Of each resource one thing at a time is open, and
 * nothing on which that depends changes before it is done: a cluster's sidecars ask the same again, too.
 */
export interface Model {
  readonly volumes: Map<string, ModelVolume>;
  readonly snapshots: Map<string, ModelSnapshot>;
  readonly groups: Map<string, ModelGroup>;
  readonly open: Map<string, Operation>;
  /** The operation that has to be asked before this one can be: itself, when nothing that it needs is open. */
  next(operation: Operation): Operation;
  /** What comes of it when nothing goes wrong; only for what `next` gave. */
  expect(operation: Operation): 'ok' | ProblemCode;
  /** It was done. */
  finish(operation: Operation): void;
  /** It may have been done. */
  leaveOpen(operation: Operation): void;
  /** Whether a node may write to the volume now, so that its content stays known. */
  isWritable(id: string): boolean;
}

/** A model in which nothing is there. */
export function createModel(): Model {
  const volumes = new Map<string, ModelVolume>();
  const snapshots = new Map<string, ModelSnapshot>();
  const groups = new Map<string, ModelGroup>();
  const open = new Map<string, Operation>();

  const copying = (id: string): Operation | undefined =>
    [...open.values()].find(operation => sourcesOf(operation).includes(id));

  /** What is open of all that the operation needs. */
  function blocking(operation: Operation): Operation | undefined {
    const { id, kind } = operation;
    const needed = sourcesOf(operation).flatMap(source => [`life ${source}`, `size ${source}`]);
    needed.push(kind === 'create' ? `size ${id}` : `life ${id}`);
    if (kind === 'delete') needed.push(`nodes ${id}`);
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
      // A deletion overtakes what is open of its volume, and may be done: only asking it again shows.
      const life = open.get(`life ${operation.id}`);
      if (life?.kind === 'delete' && aspectOf(operation) !== aspectOf(life)) return life;
      const own = open.get(aspectOf(operation));
      if (own && !supersedes(operation, own)) return own;
      // A volume whose making is asked again may have been there all along, with all that is open of it.
      const free = own && operation.kind !== 'delete';
      return (free ? undefined : blocking(operation)) ?? operation;
    },
    expect(operation) {
      const { kind, id } = operation;
      const volume = volumes.get(id);
      if (kind === 'delete') return volume?.node === undefined ? 'ok' : 'FAILED_PRECONDITION';
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

/** One of the zones is the one that is asked for; nothing asked is fine. */
function fits(zone: Zone | undefined, known: readonly Zone[]): boolean {
  return zone === undefined || known.includes(zone);
}

/** It is attached to this node, or to none and reached from there. */
function canAttach(volume: ModelVolume, node: string): boolean {
  if (volume.node !== undefined) return volume.node === node;
  return fits(nodeZones[node], [volume.zone]);
}

/** What of a resource an operation changes. */
function aspectOf({ kind, id }: Operation): string {
  if (kind === 'attach' || kind === 'detach') return `nodes ${id}`;
  if (kind === 'expand') return `size ${id}`;
  return kind === 'modify' ? `tier ${id}` : `life ${id}`;
}

/** What an operation copies. */
function sourcesOf(operation: Operation): readonly string[] {
  if (operation.kind === 'group') return operation.of;
  if (operation.kind === 'snapshot') return [operation.of];
  return operation.kind === 'create' && operation.from !== undefined ? [operation.from] : [];
}

/** True when neither has to do with anything that the other is about. */
export function areApart(one: Operation, other: Operation): boolean {
  const about = new Set([one.id, ...sourcesOf(one)]);
  return ![other.id, ...sourcesOf(other)].some(id => about.has(id));
}

/** What always succeeds: nothing there to undo is fine. */
const undoes: ReadonlySet<Operation['kind']> = new Set(['uncut', 'ungroup', 'detach']);

/** Whoever asked for something may stop asking, and have it undone; the same may be asked again. */
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

/** What is cut already stays as it was. */
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
