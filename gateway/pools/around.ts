import type { Backend } from '../backend.ts';

/** One call of a backend: its method, such as `create` or `snapshots.create`, and what it is given. */
type BackendCall = { readonly method: string; readonly args: readonly unknown[] };

/** What is laid around each call: it runs the call, or does not. */
export type Around = <T>(call: BackendCall, run: () => Promise<T>) => Promise<T>;

/** Lists, and what is read as a stream, are not among them. */
const methods = new Set(
  `create delete attach detach expand volumeHealth capacity available
   modification.apply snapshots.create snapshots.delete snapshots.createGroup`.split(/\s+/),
);
const parts = new Set(['modification', 'snapshots']);

/** The backend with something around each of its calls. What it offers may change: members are looked up in it as before. */
export function layAround(backend: Backend, around: Around): Backend {
  return wrap(backend, '', around);
}

function wrap<T extends object>(target: T, prefix: string, around: Around): T {
  const known = new WeakMap<object, unknown>();
  const wrapMember = (value: object, name: string): unknown => {
    if (typeof value !== 'function') return wrap(value, `${name}.`, around);
    const method = value as (...args: readonly unknown[]) => Promise<unknown>;
    return (...args: readonly unknown[]) =>
      around({ method: name, args }, () => Reflect.apply(method, target, args) as Promise<unknown>);
  };
  return new Proxy(target, {
    get(_, member) {
      const value: unknown = Reflect.get(target, member);
      const name = `${prefix}${String(member)}`;
      if (!value || !(methods.has(name) || parts.has(name))) return value;
      return known.getOrInsertComputed(value, () => wrapMember(value, name));
    },
  });
}
