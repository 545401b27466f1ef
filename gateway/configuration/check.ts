import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname } from 'node:path';
import { directoryFaults } from '../../src/lib/directories.ts';
import { describeStartFault } from '../../src/lib/lifecycle.ts';
import { silentLog } from '../../src/lib/log.ts';
import type { PoolContext } from '../backend.ts';
import { backends } from '../backends/index.ts';
import type { GatewayConfig } from '../config.ts';
import { findCertificate } from '../http/certificate.ts';
import { openStore } from '../stores/index.ts';
import type { PoolEntry } from './file.ts';
import { type Configuration, readConfiguration } from './read.ts';

/** A part of the gateway, and what is wrong with it; `note` says what of it could be looked at. */
type Finding = { readonly part: string; readonly faults: readonly string[]; readonly note?: string };

/**
 * Writes what is wrong with the settings and the files that they name, and what the machine lacks for each pool: one line for
 * each fault, and one for each part that is well. Nothing is changed, and a gateway may run meanwhile. Returns 1 for any fault.
 */
export async function checkGateway(
  config: GatewayConfig,
  { out }: { readonly out: (text: string) => void },
): Promise<number> {
  const { configuration, faults, keyFaults } = await readConfiguration(config.config, backends);
  const findings: readonly Finding[] = [
    { part: 'configuration', faults },
    { part: 'keys', faults: keyFaults.map(({ cluster, detail }) => `${cluster}: ${detail}`) },
    { part: 'store', faults: await checkStore(config) },
    { part: 'certificate', faults: await faultsOf(async () => findCertificate(config, silentLog)) },
    { part: 'address', faults: await checkAddress(config) },
    ...(configuration ? await checkPools(configuration, config.config) : []),
  ];
  for (const { part, faults: found, note = 'ok' } of findings)
    for (const line of found.length > 0 ? found : [note]) out(`${part}: ${line}\n`);
  return findings.some(({ faults: found }) => found.length > 0) ? 1 : 0;
}

/** A database is only connected to; a file that is not there is made at the start. */
async function checkStore({ store }: GatewayConfig): Promise<readonly string[]> {
  if (store.kind === 'sqlite' && !existsSync(store.path))
    return directoryFaults(dirname(store.path), 'the directory of the store');
  return faultsOf(async () => (await openStore(store)).close());
}

/** That a gateway serves there already is no fault. */
async function checkAddress({ listen: { host, port } }: GatewayConfig): Promise<readonly string[]> {
  return faultsOf(async () => {
    await using server = createServer();
    await once(server.listen(port, host), 'listening').catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EADDRINUSE') throw error;
    });
  });
}

async function checkPools({ file, plugins }: Configuration, path: string): Promise<readonly Finding[]> {
  const context: Omit<PoolContext, 'name'> = { log: silentLog, directory: dirname(path) };
  const check = async (name: string, { backend, settings }: PoolEntry): Promise<Finding> => {
    const part = `pool ${name}`;
    const plugin = plugins[backend];
    if (!plugin?.check) return { part, faults: [], note: 'not looked at: that takes to open it' };
    const lacks: string[] = [];
    const faults = await faultsOf(async () =>
      lacks.push(...((await plugin.check?.(settings, { ...context, name })) ?? [])),
    );
    return { part, faults: [...lacks, ...faults] };
  };
  return Promise.all(Object.entries(file.pools).map(([name, entry]) => check(name, entry)));
}

async function faultsOf(work: () => Promise<unknown>): Promise<readonly string[]> {
  try {
    await work();
    return [];
  } catch (error) {
    return [describeStartFault(error)];
  }
}
