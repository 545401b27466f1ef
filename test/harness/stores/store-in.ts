import { mkdirSync } from 'node:fs';
import { join } from 'node:path';

type MakeStore = (directory: string) => Promise<string> | string;

const stores = new Map<string, Promise<string> | string>();
let make: MakeStore = directory => {
  mkdirSync(directory, { recursive: true });
  return join(directory, 'store.sqlite');
};

/** Lets all tests of this process that say nothing else keep what they remember in such a store. */
export function useStores(other: MakeStore): void {
  make = other;
}

/** The store of a directory, as `--store` has it: the same for the same directory. */
export async function storeIn(directory: string): Promise<string> {
  return stores.getOrInsertComputed(directory, make);
}
