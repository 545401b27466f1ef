import { dirname } from 'node:path';
import { createOpenPools, type OpenOptions, type Pools } from '../pools/pools.ts';
import { callerName } from '../callers/caller.ts';
import type { PoolEntry, Plugins } from '../pools/plugins.ts';
import { type Configuration, type KeyFault, readConfiguration, stampOf } from './read.ts';
import { discoveryFaults } from '../callers/trust.ts';

export type ServedConfiguration = Awaited<ReturnType<typeof openConfiguration>>;

type ConfigurationOptions = Omit<OpenOptions, 'directory'> & { readonly plugins: Plugins };

/** Reads the configuration file and opens its pools, or rejects with every fault. */
export async function openConfiguration(path: string, { plugins, ...options }: ConfigurationOptions) {
  const { log } = options;
  const openPools = createOpenPools({ ...options, directory: dirname(path) });
  const pools: Pools = openPools;
  let read = await readConfiguration(path, plugins);
  if (!read.configuration || read.faults.length > 0) throw new AggregateError(read.faults);
  let current = read.configuration;
  await openPools.open(poolsOf(current), current.plugins);
  if (openPools.faults().length > 0) await openPools.close();
  requireSound();
  let reportedWaiting = reportWaiting('');
  let reportedKeys = reportKeyFaults('[[],[]]');
  let faults: readonly string[] = [];

  /** Throws the faults of all pools that cannot be opened. */
  function requireSound(): void {
    const all = openPools.faults();
    if (all.length > 0) throw new AggregateError(all);
  }

  /**
   * Applies the configuration. Pools take effect last, so that a fault in a pool does not delay a change of
   * callers.
   */
  async function apply(): Promise<readonly string[]> {
    current = read.configuration ?? current;
    await openPools.open(poolsOf(current), current.plugins);
    return [...read.faults, ...openPools.faults().map(({ message }) => message)];
  }

  function issuerFaults(): readonly KeyFault[] {
    return discoveryFaults(current.trust).map(([{ caller }, detail]) => ({
      cluster: callerName(caller),
      detail,
    }));
  }

  /** Finds the clusters whose key files are sound but list no key. */
  function keylessClusters(): readonly KeyFault[] {
    const { owners, trusted } = current.enrolment;
    const callers = [...owners.values(), ...[...trusted.values()].flat()].map(({ caller }) => caller);
    const served = callers.filter(({ role }) => role === 'controller').map(callerName);
    const known = new Set([...served, ...read.keyFaults.map(({ cluster }) => cluster)]);
    return Object.entries(current.file.clusters)
      .filter(([cluster]) => !known.has(cluster))
      .map(([cluster, { keys = '' }]) => ({ cluster, detail: `${keys}: has no keys` }));
  }

  function reportKeyFaults(before: string): string {
    const text = JSON.stringify([read.keyFaults, issuerFaults()]);
    if (text === before) return text;
    for (const fault of read.keyFaults)
      log.error('keys are refused, and so are all tokens that they sign', fault);
    for (const fault of issuerFaults())
      log.error('the keys of an issuer cannot be read; known keys remain valid', fault);
    return text;
  }

  function reportWaiting(before: string): string {
    const faulty = new Set(openPools.faults().map(({ message }) => message));
    const details = [...pools.waiting()]
      .map(([name, { reason }]) => `pools.${name}: ${reason}`)
      .filter(detail => !faulty.has(detail));
    const text = details.join('\n');
    if (text !== before)
      for (const detail of details) log.error('a pool cannot be reached; it is tried again', { detail });
    return text;
  }

  return {
    pools,
    enrolment: () => current.enrolment,
    clusters: () => current.file.clusters,
    boundsOf: (pool: string) => current.file.pools[pool]?.concurrency,
    keyFaults: () => [...read.keyFaults, ...issuerFaults()],
    /** The reasons why tokens of callers are refused: faults of keys, and key files without a key. */
    refusedKeys: () => [...read.keyFaults, ...issuerFaults(), ...keylessClusters()],
    /** The present faults of the file; the faulty parts stay as they were. */
    faults: () => faults,
    /**
     * Reads the files again when one has changed. Each sound part takes effect, removals above all. A fault
     * is reported once, and a faulty part stays as it was, except that faulty keys are refused. A pool that
     * was removed, or changed except for its `concurrency` and `attachments`, stays as it is until the next
     * start, which is reported.
     */
    async readAgain(): Promise<void> {
      const isChanged = !(await areUnchanged(read.files));
      if (isChanged) read = await readConfiguration(path, plugins, { last: current });
      reportedKeys = reportKeyFaults(reportedKeys);
      if (!isChanged && faults.length === 0 && pools.waiting().size === 0) return;
      const before = faults.join('\n');
      faults = await apply();
      reportedWaiting = reportWaiting(reportedWaiting);
      if (faults.length === 0 && isChanged)
        log.info('the configuration was read again', { path, count: pools.all().length });
      else if (faults.length > 0 && faults.join('\n') !== before)
        for (const detail of faults) log.error('a part of the configuration stays as it was', { detail });
    },
    /**
     * Waits until each pool was opened or has failed, at most `timeoutMs`. Rejects with the faults of all pools that
     * cannot be opened. The others stay open, because requests may be using them: the caller ends the requests, then
     * calls `close`.
     */
    async settle(timeoutMs: number): Promise<void> {
      await openPools.settle(timeoutMs);
      requireSound();
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
