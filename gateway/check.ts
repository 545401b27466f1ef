import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname } from 'node:path';
import { directoryFaults } from '../src/lib/directories.ts';
import { describeStartFault } from '../src/lib/lifecycle.ts';
import { silentLog } from '../src/lib/log.ts';
import type { PoolContext } from './backend.ts';
import { backends } from './backends/index.ts';
import type { GatewayConfig } from './config.ts';
import { findCertificate } from './http/certificate.ts';
import { openStore } from './stores/index.ts';
import type { PoolEntry } from './configuration/file.ts';
import { type Configuration, readConfiguration } from './configuration/read.ts';

/** A part of the gateway with its faults. `note` replaces "ok" if the part could not be checked. */
type Finding = { readonly part: string; readonly faults: readonly string[]; readonly note?: string };

/**
 * Checks the settings, the files that they name, and the machine for each pool. Prints a line for each fault,
 * and one for each sound part. It changes nothing, and a gateway may run meanwhile. Returns 1 for any fault.
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

/** Checks the store. It only connects to a database; a missing file is created at the start. */
async function checkStore({ store }: GatewayConfig): Promise<readonly string[]> {
  if (store.kind === 'sqlite' && !existsSync(store.path))
    return directoryFaults(dirname(store.path), 'the directory of the store');
  return faultsOf(async () => (await openStore(store)).close());
}

/** Checks the address. A gateway that already serves there is no fault. */
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
    if (!plugin?.check) return { part, faults: [], note: 'not checked: a check would have to open the pool' };
    const missing: string[] = [];
    const faults = await faultsOf(async () =>
      missing.push(...((await plugin.check?.(settings, { ...context, name })) ?? [])),
    );
    return { part, faults: [...missing, ...faults] };
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
