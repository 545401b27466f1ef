import type { Backend, Changes, Modification, Snapshots } from '../../../gateway/backend.ts';
import type { Target } from './rules.ts';

/** One call of a backend: which method, and the id of what it is about (for a group its volumes' ids). */
export type Called = { readonly target: Target; readonly id: string };

/** What is laid around each call of a backend. */
export interface Around {
  call<T>(called: Called, run: () => Promise<T>): Promise<T>;
  stream<T>(called: Called, run: () => AsyncIterable<T>): AsyncIterable<T>;
}

/** The backend with something around each of its calls. Its members are there or absent as they were. */
export function wrapBackend<T extends Backend>(inner: T, around: Around): T {
  const { call, stream } = around;
  const { expand, modification, snapshots, changes, volumeHealth, capacity, list, health } = inner;
  return {
    ...inner,
    create: volume => call({ target: 'create', id: volume.id }, () => inner.create(volume)),
    delete: volume => call({ target: 'delete', id: volume.id }, () => inner.delete(volume)),
    attach: (volume, access) => call({ target: 'attach', id: volume.id }, () => inner.attach(volume, access)),
    detach: (volume, nodeId) => call({ target: 'detach', id: volume.id }, () => inner.detach(volume, nodeId)),
    ...(expand && {
      expand: (volume, bounds) => call({ target: 'expand', id: volume.id }, () => expand(volume, bounds)),
    }),
    ...(modification && { modification: wrapModification(modification, around) }),
    ...(snapshots && { snapshots: wrapSnapshots(snapshots, around) }),
    ...(changes && { changes: wrapChanges(changes, around) }),
    ...(volumeHealth && {
      volumeHealth: volume => call({ target: 'volume-health', id: volume.id }, () => volumeHealth(volume)),
    }),
    ...(capacity && {
      capacity: segments => call({ target: 'capacity', id: '' }, () => capacity(segments)),
    }),
    ...(list && { list: () => stream({ target: 'list', id: '' }, () => list()) }),
    ...(health && { health: () => call({ target: 'health', id: '' }, () => health()) }),
  } satisfies Backend as T;
}

function wrapModification(modification: Modification, { call }: Around): Modification {
  return {
    ...modification,
    apply: (volume, parameters) =>
      call({ target: 'modify', id: volume.id }, () => modification.apply(volume, parameters)),
  };
}

function wrapSnapshots(snapshots: Snapshots, { call, stream }: Around): Snapshots {
  const { createGroup, list } = snapshots;
  return {
    ...snapshots,
    create: snapshot => call({ target: 'snapshot', id: snapshot.id }, () => snapshots.create(snapshot)),
    delete: snapshot =>
      call({ target: 'snapshot-delete', id: snapshot.id }, () => snapshots.delete(snapshot)),
    ...(createGroup && {
      createGroup: members =>
        call({ target: 'group', id: members.map(({ volume }) => volume.id).join(' ') }, () =>
          createGroup(members),
        ),
    }),
    ...(list && { list: () => stream({ target: 'snapshot-list', id: '' }, () => list()) }),
  };
}

function wrapChanges(changes: Changes, { stream }: Around): Changes {
  return {
    allocated: (snapshot, fromOffset) =>
      stream({ target: 'blocks', id: snapshot.id }, () => changes.allocated(snapshot, fromOffset)),
    changed: (pair, fromOffset) =>
      stream({ target: 'blocks', id: pair.target.id }, () => changes.changed(pair, fromOffset)),
  };
}
