import type { Log } from '../../src/lib/log.ts';
import { createOpenPools, type Pool, type Pools } from '../pools/pools.ts';
import type { Plugins } from './file.ts';
import { readConfiguration, stampOf, type ConfigurationResult } from './read.ts';

/** What is served: the pools that are open, and who may call. */
export type ServedConfiguration = Awaited<ReturnType<typeof openConfiguration>>;

/** What pools are opened by; each only when `requireOwned` does not throw. */
export type ConfigurationOptions = {
  readonly plugins: Plugins;
  readonly log: Log;
  readonly requireOwned?: (pool: Pool) => Promise<void>;
};

/** Reads the configuration file and opens its pools, or rejects with every fault together. */
export async function openConfiguration(path: string, { plugins, log, requireOwned }: ConfigurationOptions) {
  const openPools = createOpenPools(plugins, log, requireOwned);
  const pools: Pools = openPools;
  const first = await readConfiguration(path, plugins);
  if (!first.configuration) throw new AggregateError(first.faults);
  await openPools.open(first.configuration.pools);
  let { enrolment } = first.configuration;
  let { files } = first;
  let reported = '';

  async function apply(read: ConfigurationResult): Promise<readonly string[]> {
    if (!read.configuration) return read.faults;
    try {
      await openPools.open(read.configuration.pools);
    } catch (error) {
      return (error as AggregateError).errors.map(one => (one as Error).message);
    }
    ({ enrolment } = read.configuration);
    log.info('the configuration was read again', { path, count: pools.all().length });
    return [];
  }

  return {
    pools,
    enrolment: () => enrolment,
    /**
     * Reads the files again when one has changed. Callers and new pools take effect; a fault is reported once, and all
     * stays as it was. A pool that was removed or changed stays as it is until the next start, and that is reported.
     */
    async readAgain(): Promise<void> {
      if (reported === '' && (await areUnchanged(files))) return;
      const read = await readConfiguration(path, plugins);
      files = read.files;
      const faults = await apply(read);
      const text = faults.join('\n');
      if (text !== reported)
        for (const detail of faults) log.error('the configuration stays as it was', { path, detail });
      reported = text;
    },
    close: openPools.close,
  };
}

async function areUnchanged(files: ReadonlyMap<string, string>): Promise<boolean> {
  for (const [path, stamp] of files) if ((await stampOf(path)) !== stamp) return false;
  return true;
}
