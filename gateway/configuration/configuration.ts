import { sameJson } from '../../src/lib/json.ts';
import type { Log } from '../../src/lib/log.ts';
import type { Enrolment } from '../http/auth.ts';
import { createOpenPools } from '../pools/open-pools.ts';
import type { Pools } from '../pools/pools.ts';
import type { Plugins, PoolEntry } from './file.ts';
import { readConfiguration, stampOf, type Configuration } from './read.ts';

/** What is served: the pools that are open, and who may call. */
export interface ServedConfiguration {
  readonly pools: Pools;
  enrolment(): Enrolment;
  /**
   * Reads the files again when one has changed. Callers and new pools take effect; a fault is reported once, and all
   * stays as it was. A pool that was removed or changed stays as it is until the next start, and that is reported.
   */
  readAgain(): Promise<void>;
  close(): Promise<void>;
}

/** Reads the configuration file and opens its pools, or rejects with every fault together. */
export async function openConfiguration(
  path: string,
  { plugins, log }: { readonly plugins: Plugins; readonly log: Log },
): Promise<ServedConfiguration> {
  const first = await readConfiguration(path, plugins);
  if (!first.configuration) throw new AggregateError(first.faults);
  const pools = createOpenPools(plugins, log);
  await pools.open(first.configuration.pools);
  const opened = new Map(first.configuration.pools);
  let { enrolment } = first.configuration;
  let { files } = first;
  let reported = '';

  async function apply(configuration: Configuration): Promise<void> {
    await pools.open(configuration.pools);
    reportUnchangeable(opened, configuration.pools, log);
    for (const [name, entry] of configuration.pools) if (!opened.has(name)) opened.set(name, entry);
    ({ enrolment } = configuration);
    log.info('the configuration was read again', { path, count: opened.size });
  }

  return {
    pools,
    enrolment: () => enrolment,
    async readAgain() {
      if (reported === '' && (await areUnchanged(files))) return;
      const read = await readConfiguration(path, plugins);
      files = read.files;
      const faults = read.configuration ? await faultsOf(apply(read.configuration)) : read.faults;
      const text = faults.join('\n');
      if (text !== reported)
        for (const detail of faults) log.error('the configuration stays as it was', { path, detail });
      reported = text;
    },
    close: () => pools.close(),
  };
}

/** Pools that volumes may lie in are not closed, nor opened anew with other settings, below them. */
function reportUnchangeable(
  opened: ReadonlyMap<string, PoolEntry>,
  wanted: ReadonlyMap<string, PoolEntry>,
  log: Log,
): void {
  for (const [name, entry] of opened) {
    const found = wanted.get(name);
    if (sameJson(found, entry)) continue;
    const what = found ? 'its settings have changed' : 'it was removed';
    log.warn('a pool stays as it is until the next start', { detail: `pools.${name}: ${what}` });
  }
}

async function faultsOf(work: Promise<void>): Promise<readonly string[]> {
  try {
    await work;
    return [];
  } catch (error) {
    const all = error instanceof AggregateError ? (error.errors as readonly unknown[]) : [error];
    return all.map(one => (one instanceof Error ? one.message : String(one)));
  }
}

async function areUnchanged(files: ReadonlyMap<string, string>): Promise<boolean> {
  for (const [path, stamp] of files) if ((await stampOf(path)) !== stamp) return false;
  return true;
}
