import type { Backend, Modification, Snapshots } from '../../gateway/backend.ts';

/** A method that can be made to fail. */
export type Method =
  | 'create'
  | 'delete'
  | 'attach'
  | 'detach'
  | 'expand'
  | 'modify'
  | 'cut'
  | 'uncut'
  | 'cutGroup';

/** When a call goes wrong: before the storage changes, or after it has, when the answer is lost. */
export type Moment = 'before' | 'after';

/** A backend that fails, waits and counts as it is told. */
export interface FaultyBackend extends Backend {
  /** All calls since the start, as `method id`. */
  readonly calls: string[];
  /** The next call of the method throws this once for each time this is called. */
  failNext(method: Method, moment: Moment, error: unknown): void;
  /** Calls of the method wait, before the storage changes, until what is returned is called. */
  hold(method: Method): () => void;
  /** Resolves once the method is called while held. */
  entered(method: Method): Promise<void>;
}

/** Wraps a backend. */
export function createFaultyBackend(inner: Backend): FaultyBackend {
  const calls: string[] = [];
  const faults: { method: Method; moment: Moment; error: unknown }[] = [];
  const held = new Map<Method, { readonly gate: Promise<void>; readonly enter: () => void }>();
  const entries = new Map<Method, Promise<void>>();

  function takeFault(method: Method, moment: Moment): void {
    const index = faults.findIndex(fault => fault.method === method && fault.moment === moment);
    if (index < 0) return;
    const [fault] = faults.splice(index, 1);
    throw fault?.error;
  }

  async function call<T>(method: Method, id: string, run: () => Promise<T>): Promise<T> {
    calls.push(`${method} ${id}`);
    const hold = held.get(method);
    hold?.enter();
    await hold?.gate;
    takeFault(method, 'before');
    const value = await run();
    takeFault(method, 'after');
    return value;
  }

  function wrapSnapshots(snapshots: Snapshots): Snapshots {
    const { createGroup } = snapshots;
    return {
      ...snapshots,
      create: snapshot => call('cut', snapshot.id, () => snapshots.create(snapshot)),
      delete: snapshot => call('uncut', snapshot.id, () => snapshots.delete(snapshot)),
      ...(createGroup && {
        createGroup: members =>
          call('cutGroup', members.map(({ volume }) => volume.id).join(' '), () => createGroup(members)),
      }),
    };
  }

  function wrapModification(modification: Modification): Modification {
    return {
      ...modification,
      apply: (volume, parameters) => call('modify', volume.id, () => modification.apply(volume, parameters)),
    };
  }

  const { expand, snapshots, modification } = inner;
  return {
    ...inner,
    calls,
    ...(expand && {
      expand: (volume, bounds) => call('expand', volume.id, () => expand(volume, bounds)),
    }),
    ...(snapshots && { snapshots: wrapSnapshots(snapshots) }),
    ...(modification && { modification: wrapModification(modification) }),
    create: volume => call('create', volume.id, () => inner.create(volume)),
    delete: volume => call('delete', volume.id, () => inner.delete(volume)),
    attach: (volume, access) => call('attach', volume.id, () => inner.attach(volume, access)),
    detach: (volume, nodeId) => call('detach', volume.id, () => inner.detach(volume, nodeId)),
    failNext(method, moment, error) {
      faults.push({ method, moment, error });
    },
    hold(method) {
      const gate = Promise.withResolvers<void>();
      const entry = Promise.withResolvers<void>();
      held.set(method, { gate: gate.promise, enter: entry.resolve });
      entries.set(method, entry.promise);
      return () => {
        held.delete(method);
        gate.resolve();
      };
    },
    async entered(method) {
      await entries.get(method);
    },
  };
}
