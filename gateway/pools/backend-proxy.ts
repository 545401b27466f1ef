import type { Backend } from '../backend.ts';

type BackendCall = { readonly method: string; readonly args: readonly unknown[] };

export type CallWrapper = <T>(call: BackendCall, run: () => Promise<T>) => Promise<T>;

/** The methods that are wrapped. Lists and streams are not. */
const methods = `create delete attach detach expand volumeHealth capacity available reach
   modification.apply snapshots.create snapshots.delete snapshots.createGroup`.split(/\s+/);
const parts = ['modification', 'snapshots'];

/** Wraps each call of the backend. Members are looked up at each call, because they may change. */
export function wrapCalls(backend: Backend, wrapper: CallWrapper): Backend {
  return wrap(backend, '', wrapper);
}

function wrap<T extends object>(target: T, prefix: string, wrapper: CallWrapper): T {
  const known = new WeakMap<object, unknown>();
  /** The names of the target's wrapped members, by member. Every use of the backend looks here. */
  const names = new Map<string | symbol, string>(
    [...methods, ...parts]
      .filter(name => name.startsWith(prefix))
      .map(name => [name.slice(prefix.length), name]),
  );
  const wrapMember = (value: object, name: string): unknown => {
    if (typeof value !== 'function') return wrap(value, `${name}.`, wrapper);
    const method = value as (...args: readonly unknown[]) => Promise<unknown>;
    return (...args: readonly unknown[]) =>
      wrapper({ method: name, args }, () => Reflect.apply(method, target, args) as Promise<unknown>);
  };
  return new Proxy(target, {
    get(_, member) {
      const value: unknown = Reflect.get(target, member);
      const name = names.get(member);
      if (!value || name === undefined) return value;
      let wrapped = known.get(value);
      if (!wrapped) known.set(value, (wrapped = wrapMember(value, name)));
      return wrapped;
    },
  });
}
