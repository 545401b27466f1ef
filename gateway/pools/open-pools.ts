import type { Log } from '../../src/lib/log.ts';
import type { Backend } from '../backend.ts';
import type { Plugins, PoolEntry } from '../configuration/file.ts';
import { createPools, type Pool, type Pools } from './pools.ts';

/** The pools that are open. */
export interface OpenPools extends Pools {
  /**
   * Opens all of these that are not open yet, or none: then it rejects with every fault together. These are offered from
   * then on, and no others.
   */
  open(entries: ReadonlyMap<string, PoolEntry>): Promise<void>;
  close(): Promise<void>;
}

/** Opens pools by these plug-ins; none is open yet. */
export function createOpenPools(plugins: Plugins, log: Log): OpenPools {
  const opened: Pool[] = [];
  let offered: readonly Pool[] = [];
  return {
    ...createPools(
      () => opened,
      () => offered,
    ),
    async open(entries) {
      const missing = [...entries].filter(([name]) => opened.every(pool => pool.name !== name));
      const outcomes = await Promise.allSettled(
        missing.map(async ([name, entry]) => ({ name, backend: await openBackend(name, entry) })),
      );
      const added = outcomes.flatMap(outcome => (outcome.status === 'fulfilled' ? [outcome.value] : []));
      const faults = outcomes.flatMap(outcome => (outcome.status === 'rejected' ? [outcome.reason] : []));
      if (faults.length > 0) {
        await closeAll(added);
        throw new AggregateError(faults);
      }
      opened.push(...added);
      offered = opened.filter(({ name }) => entries.has(name));
    },
    close: () => closeAll(opened.splice(0)),
  };

  async function openBackend(name: string, { backend, settings, topology }: PoolEntry): Promise<Backend> {
    try {
      const found = await plugins[backend]?.open(settings, { name, log });
      if (!found) throw new Error(`there is no backend "${backend}"`);
      if (!topology) return found;
      if (!found.topologies) return { ...found, topologies: [topology] };
      await found.close?.();
      throw new Error(`topology: the backend "${backend}" knows its topologies itself`);
    } catch (error) {
      throw new Error(`pools.${name}: ${error instanceof Error ? error.message : String(error)}`, {
        cause: error,
      });
    }
  }
}

async function closeAll(pools: readonly Pool[]): Promise<void> {
  for (const { backend } of pools.toReversed()) await backend.close?.();
}
