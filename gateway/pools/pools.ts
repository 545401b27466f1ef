import { unavailableProblem } from '../../src/api/problem.ts';
import { sameJson } from '../../src/lib/json.ts';
import type { Log } from '../../src/lib/log.ts';
import type { Backend } from '../backend.ts';
import type { PoolEntry } from '../configuration/file.ts';
import type { Plugins } from '../configuration/plugins.ts';
import type { Reader } from '../store.ts';

/** A backend with its settings, under the name that a StorageClass gives (`pool: fast`). */
export type Pool = { readonly name: string; readonly backend: Backend };

/** The pools of this gateway. They may become more while it runs, never fewer. */
export type Pools = ReturnType<typeof createPools>;

/** Looks pools up in what `list` gives now; all of them are offered unless `offered` gives fewer. */
export function createPools(list: () => readonly Pool[], offered: () => readonly Pool[] = list) {
  return {
    /** All pools that are open, in the order in which they were opened. */
    all: list,
    /** Those of them that the configuration names now: in these alone something new is created. */
    offered,
    /** UNAVAILABLE for a pool that the configuration does not name. */
    get(name: string): Pool {
      const pool = list().find(one => one.name === name);
      if (!pool) throw unavailableProblem(`pool "${name}" is not configured`);
      return pool;
    },
  };
}

/** Throws with all pools that hold something and are not configured: to go on would leave that unmanaged. */
export async function requireKnownPools(sql: Reader, pools: Pools): Promise<void> {
  const faults: string[] = [];
  for (const table of ['volumes', 'snapshots'])
    for (const { pool, number } of await sql.all(
      `select pool, count(*) as number from ${table} group by pool`,
    ))
      if (pools.all().every(({ name }) => name !== pool))
        faults.push(`pool "${pool}" is not configured, but the store has ${table} in it (${number})`);
  if (faults.length > 0) throw new AggregateError(faults);
}

/** Opens pools, each only when `requireOwned` does not throw; none is open yet. */
export function createOpenPools(log: Log, requireOwned: (pool: Pool) => Promise<void> = async () => {}) {
  const opened: (Pool & { readonly entry: PoolEntry })[] = [];
  let offered: readonly Pool[] = [];

  async function openPool(
    name: string,
    entry: PoolEntry,
    plugins: Plugins,
  ): Promise<(typeof opened)[number]> {
    const { backend, settings, topology } = entry;
    let found: Backend | undefined;
    try {
      found = await plugins[backend]?.open(settings, { name, log });
      if (!found) throw new Error(`there is no backend "${backend}"`);
      if (topology && found.topologies)
        throw new Error(`topology: the backend "${backend}" knows its topologies itself`);
      await requireOwned({ name, backend: found });
      return { name, backend: topology ? { ...found, topologies: [topology] } : found, entry };
    } catch (error) {
      await found?.close?.();
      throw new Error(`pools.${name}: ${error instanceof Error ? error.message : String(error)}`, {
        cause: error,
      });
    }
  }

  return {
    ...createPools(
      () => opened,
      () => offered,
    ),
    /**
     * Opens all of these that are not open yet by the plug-ins, or none: then it rejects with every fault together. These are offered
     * from then on, and no others. What is open stays open with its settings, since volumes may lie in it; that is logged.
     */
    async open(entries: ReadonlyMap<string, PoolEntry>, plugins: Plugins): Promise<void> {
      const missing = [...entries].filter(([name]) => opened.every(pool => pool.name !== name));
      const outcomes = await Promise.allSettled(
        missing.map(([name, entry]) => openPool(name, entry, plugins)),
      );
      const added = outcomes.flatMap(outcome => (outcome.status === 'fulfilled' ? [outcome.value] : []));
      const faults = outcomes.flatMap(outcome => (outcome.status === 'rejected' ? [outcome.reason] : []));
      if (faults.length > 0) {
        await closeAll(added);
        throw new AggregateError(faults);
      }
      for (const { name, entry } of opened) {
        const wanted = entries.get(name);
        const what = wanted ? 'its settings have changed' : 'it was removed';
        if (!sameJson(wanted, entry))
          log.warn('a pool stays as it is until the next start', { detail: `pools.${name}: ${what}` });
      }
      opened.push(...added);
      offered = opened.filter(({ name }) => entries.has(name));
    },
    close: () => closeAll(opened.splice(0)),
  };
}

async function closeAll(pools: readonly Pool[]): Promise<void> {
  for (const { backend } of pools.toReversed()) await backend.close?.();
}
