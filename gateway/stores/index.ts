import type { StoreSetting } from '../config.ts';
import type { Engine } from '../store.ts';
import { openPostgres } from './postgres.ts';
import { openSqlite } from './sqlite.ts';

const stores = { sqlite: openSqlite, postgres: openPostgres } as const;

/** Opens the store. Throws an error of one line. */
export async function openStore({ kind, path }: StoreSetting): Promise<Engine> {
  return stores[kind](path);
}
