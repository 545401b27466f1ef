import { Problem } from '../../src/api/problem.ts';
import type { Backend } from '../backend.ts';

/** A backend with its settings, under the name that a StorageClass gives (`pool: fast`). */
export type Pool = { readonly name: string; readonly backend: Backend };

/** The pools of this gateway. They may become more while it runs, never fewer. */
export interface Pools {
  /** All pools that are open, in the order in which they were opened. */
  all(): readonly Pool[];
  /** Those of them that the configuration names now: in these alone something new is created. */
  offered(): readonly Pool[];
  /** UNAVAILABLE for a pool that the configuration does not name. */
  get(name: string): Pool;
}

/** Looks pools up in what `list` gives now; all of them are offered unless `offered` gives fewer. */
export function createPools(list: () => readonly Pool[], offered: () => readonly Pool[] = list): Pools {
  return {
    all: list,
    offered,
    get(name) {
      const pool = list().find(one => one.name === name);
      if (!pool) throw new Problem('UNAVAILABLE', `pool "${name}" is not configured`);
      return pool;
    },
  };
}
