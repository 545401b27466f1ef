// The package's commands and libraries run on Node.js 22 and newer. This file is in every bundle and adds the few functions of
// newer versions that they use.

type Store<Key, Value> = Pick<Map<Key, Value>, 'get' | 'has' | 'set'>;

add(Map.prototype, 'getOrInsertComputed', getOrInsertComputed);
add(WeakMap.prototype, 'getOrInsertComputed', getOrInsertComputed);
add(Error, 'isError', (value: unknown) => value instanceof Error);

function getOrInsertComputed<Key, Value>(
  this: Store<Key, Value>,
  key: Key,
  compute: (key: Key) => Value,
): Value {
  if (!this.has(key)) this.set(key, compute(key));
  return this.get(key) as Value;
}

function add(target: object, name: string, value: unknown): void {
  if (!Object.hasOwn(target, name))
    Object.defineProperty(target, name, { value, configurable: true, writable: true });
}
