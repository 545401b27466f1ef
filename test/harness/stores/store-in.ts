import { mkdirSync } from 'node:fs';
import { join } from 'node:path';

type MakeStore = (directory: string) => Promise<string> | string;

const stores = new Map<string, Promise<string> | string>();
let make: MakeStore = directory => {
  mkdirSync(directory, { recursive: true });
  return join(directory, 'store.sqlite');
};

/** Sets the kind of store that this process's tests use by default. */
export function useStores(other: MakeStore): void {
  make = other;
}

/** Returns the directory's store as a value of `--store`: the same for the same directory. */
export async function storeIn(directory: string): Promise<string> {
  return stores.getOrInsertComputed(directory, make);
}
