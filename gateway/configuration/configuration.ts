import { dirname } from 'node:path';
import { createOpenPools, type OpenOptions, type Pools } from '../pools/pools.ts';
import { callerName } from '../tenancy/caller.ts';
import type { PoolEntry } from './file.ts';
import type { Plugins } from './plugins.ts';
import { type Configuration, type KeyFault, readConfiguration, stampOf } from './read.ts';
import { discoveryFaults } from './trust.ts';

/** What is served: the pools that are open, and who may call. */
export type ServedConfiguration = Awaited<ReturnType<typeof openConfiguration>>;

/** What pools are opened by. */
export type ConfigurationOptions = Omit<OpenOptions, 'directory'> & { readonly plugins: Plugins };

/** Reads the configuration file and opens its pools, or rejects with every fault together. */
export async function openConfiguration(path: string, { plugins, ...options }: ConfigurationOptions) {
  const { log } = options;
  const openPools = createOpenPools({ ...options, directory: dirname(path) });
  const pools: Pools = openPools;
  let read = await readConfiguration(path, plugins);
  if (!read.configuration || read.faults.length > 0) throw new AggregateError(read.faults);
  let current = read.configuration;
  await openPools.open(poolsOf(current), current.plugins);
  let reportedWaiting = reportWaiting('');
  let reportedKeys = reportKeyFaults('[[],[]]');
  let faults: readonly string[] = [];

  /** Pools are the last to take effect: whether they open decides nothing about who may call. */
  async function apply(): Promise<readonly string[]> {
    current = read.configuration ?? current;
    try {
      await openPools.open(poolsOf(current), current.plugins);
      return read.faults;
    } catch (error) {
      const all: readonly unknown[] = error instanceof AggregateError ? error.errors : [error];
      return [...read.faults, ...all.map(one => (one instanceof Error ? one.message : String(one)))];
    }
  }

  function unreadable(): readonly KeyFault[] {
    return discoveryFaults(current.trust).map(([{ caller }, detail]) => ({
      cluster: callerName(caller),
      detail,
    }));
  }

  function reportKeyFaults(before: string): string {
    const text = JSON.stringify([read.keyFaults, unreadable()]);
    if (text === before) return text;
    for (const fault of read.keyFaults) log.error('keys were refused, and all tokens that they sign', fault);
    for (const fault of unreadable())
      log.error('the keys of an issuer cannot be read; those that are known go on to count', fault);
    return text;
  }

  function reportWaiting(before: string): string {
    const details = [...pools.waiting()].map(([name, { detail }]) => `pools.${name}: ${detail}`);
    const text = details.join('\n');
    if (text !== before)
      for (const detail of details) log.error('a pool cannot be reached; it is tried again', { detail });
    return text;
  }

  return {
    pools,
    enrolment: () => current.enrolment,
    /** The clusters as the file has them, by their names. */
    clusters: () => current.file.clusters,
    /** How many operations a pool is given at a time now, as the file has it. */
    boundsOf: (pool: string) => current.file.pools[pool]?.concurrency,
    /** What is wrong with the keys of clusters now, for a metric. */
    keyFaults: () => [...read.keyFaults, ...unreadable()],
    /**
     * Reads the files again when one has changed. Each sound part takes effect, what was removed above all; a fault is
     * reported once, and what is at fault stays as it was, but for keys: those are refused. A pool that was removed, or
     * changed but for its `concurrency`, stays as it is until the next start, and that is reported.
     */
    async readAgain(): Promise<void> {
      const isChanged = !(await areUnchanged(read.files));
      if (isChanged) read = await readConfiguration(path, plugins, current);
      reportedKeys = reportKeyFaults(reportedKeys);
      if (!isChanged && faults.length === 0 && pools.waiting().size === 0) return;
      const before = faults.join('\n');
      const waited = pools.waiting().size;
      faults = await apply();
      reportedWaiting = reportWaiting(reportedWaiting);
      if (faults.length === 0 && (isChanged || pools.waiting().size < waited))
        log.info('the configuration was read again', { path, count: pools.all().length });
      else if (faults.length > 0 && faults.join('\n') !== before)
        for (const detail of faults)
          log.error('a part of the configuration stays as it was', { path, detail });
    },
    close: openPools.close,
  };
}

function poolsOf({ file }: Configuration): ReadonlyMap<string, PoolEntry> {
  return new Map(Object.entries(file.pools));
}

async function areUnchanged(files: ReadonlyMap<string, string>): Promise<boolean> {
  for (const [path, stamp] of files) if ((await stampOf(path)) !== stamp) return false;
  return true;
}
