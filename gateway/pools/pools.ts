import { Problem } from '../../src/api/problem.ts';
import type { Backend } from '../backend.ts';

/** A backend with its settings, under the name that a StorageClass gives (`pool: fast`). */
export type Pool = { readonly name: string; readonly backend: Backend };

/** The pools of this gateway. They may become more while it runs, never fewer. */
export interface Pools {
  /** All pools, in the order of the configuration. */
  all(): readonly Pool[];
  /** UNAVAILABLE for a pool that the configuration does not name. */
  get(name: string): Pool;
}

/** Looks pools up in what `list` gives now. */
export function createPools(list: () => readonly Pool[]): Pools {
  return {
    all: list,
    get(name) {
      const pool = list().find(one => one.name === name);
      if (!pool) throw new Problem('UNAVAILABLE', `pool "${name}" is not configured`);
      return pool;
    },
  };
}
