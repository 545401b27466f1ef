import type { Backend, Changes, NewSnapshot, Snapshots } from '../../../gateway/backend.ts';
import type { Target } from './rules.ts';

/** A call of a backend: the method, and the id of its object (for a group the ids of its volumes). */
export type BackendCall = { readonly target: Target; readonly id: string };

/** A wrapper around each call of a backend. */
export interface CallWrapper {
  call<T>(called: BackendCall, run: () => Promise<T>): Promise<T>;
  stream<T>(called: BackendCall, run: () => AsyncIterable<T>): AsyncIterable<T>;
}

/** Wraps each call of a backend and keeps its set of members. */
export function wrapBackend<T extends Backend>(inner: T, around: CallWrapper): T {
  const { create, attach, detach, expand, modification, snapshots, changes } = inner;
  const { volumeHealth, capacity, list } = inner;
  const wrap = createWrap(around);
  return {
    ...inner,
    create: wrap('create', create),
    delete: wrap('delete', volume => inner.delete(volume)),
    attach: wrap('attach', attach),
    detach: wrap('detach', detach),
    ...(expand && { expand: wrap('expand', expand) }),
    ...(modification && { modification: { ...modification, apply: wrap('modify', modification.apply) } }),
    ...(snapshots && { snapshots: wrapSnapshots(snapshots, around) }),
    ...(changes && { changes: wrapChanges(changes, around) }),
    ...(volumeHealth && { volumeHealth: wrap('volume-health', volumeHealth) }),
    ...(capacity && { capacity: wrap('capacity', capacity) }),
    ...(list && { list: () => around.stream({ target: 'list', id: '' }, list) }),
  } satisfies Backend as T;
}

function createWrap({ call }: CallWrapper) {
  return <Args extends readonly unknown[], T>(target: Target, run: (...args: Args) => Promise<T>) =>
    (...args: Args): Promise<T> =>
      call({ target, id: (args[0] as { readonly id?: string } | undefined)?.id ?? '' }, () => run(...args));
}

function wrapSnapshots(snapshots: Snapshots, around: CallWrapper): Snapshots {
  const { createGroup, list } = snapshots;
  const wrap = createWrap(around);
  return {
    ...snapshots,
    create: wrap('snapshot', snapshots.create),
    delete: wrap('snapshot-delete', snapshot => snapshots.delete(snapshot)),
    ...(createGroup && {
      createGroup: members => around.call({ target: 'group', id: idOf(members) }, () => createGroup(members)),
    }),
    ...(list && { list: () => around.stream({ target: 'snapshot-list', id: '' }, list) }),
  };
}

function idOf(members: readonly NewSnapshot[]): string {
  return members.map(({ volume }) => volume.id).join(' ');
}

function wrapChanges({ allocated, changed }: Changes, { stream }: CallWrapper): Changes {
  return {
    allocated: (snapshot, fromOffset) =>
      stream({ target: 'blocks', id: snapshot.id }, () => allocated(snapshot, fromOffset)),
    changed: (pair, fromOffset) =>
      stream({ target: 'blocks', id: pair.target.id }, () => changed(pair, fromOffset)),
  };
}
