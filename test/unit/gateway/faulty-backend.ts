import type { Backend } from '../../../gateway/backend.ts';
import { changing } from '../../fakes/faulty-backend/rules.ts';
import { wrapBackend, type BackendCall } from '../../fakes/faulty-backend/wrap.ts';

/** A method that can be made to fail: one that changes the storage. */
export type Method = (typeof changing)[number];

/** The moment of a failure: before the storage changes, or afterwards, when the answer is lost. */
export type Moment = 'before' | 'after';

/** A backend that fails, waits and counts as a test wants. */
export interface FaultyBackend extends Backend {
  /** All calls since the start, as `method id`. */
  readonly calls: string[];
  /** Makes the next call of the method throw this error; repeated calls add up. */
  failNext(method: Method, moment: Moment, error: unknown): void;
  /** Makes calls of the method wait, before the storage changes, until the returned function is called. */
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

  async function call<T>({ target, id }: BackendCall, run: () => Promise<T>): Promise<T> {
    const method = changing.find(one => one === target);
    if (!method) return run();
    calls.push(`${method} ${id}`);
    const hold = held.get(method);
    hold?.enter();
    await hold?.gate;
    takeFault(method, 'before');
    const value = await run();
    takeFault(method, 'after');
    return value;
  }

  return {
    ...wrapBackend(inner, { call, stream: (_called, run) => run() }),
    calls,
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
