import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname } from 'node:path';
import { unavailableProblem } from '../src/api/problem.ts';
import { directoryFaults } from '../src/lib/directories.ts';
import { describeStartFault } from '../src/lib/lifecycle.ts';
import { silentLog } from '../src/lib/log.ts';
import { sendNoSpans } from '../src/lib/tracing/tracer.ts';
import type { BackendPlugin, Identity, PoolContext } from './backend.ts';
import { backends } from './backends/index.ts';
import type { GatewayConfig } from './config.ts';
import { findCertificate, judgeValidity } from './http/certificate.ts';
import { createIdentity } from './pools/identity.ts';
import type { PoolEntry } from './pools/plugins.ts';
import { judgeMark } from './pools/owner.ts';
import { findUnknownPools } from './pools/pools.ts';
import { openStore } from './stores/index.ts';
import { inspect, schemaVersion } from './tables/schema.ts';
import { discovered } from './configuration/file.ts';
import { type Configuration, readConfiguration } from './configuration/read.ts';

/**
 * A part of the gateway with its faults. `note` replaces "ok" if the part, or some of it, was not checked. `warning` says
 * what will become a fault.
 */
type Finding = {
  readonly part: string;
  readonly faults: readonly string[];
  readonly warning?: string | undefined;
  readonly note?: string | undefined;
};

/**
 * Checks the settings, the files that they name, and the machine for each pool. Prints a line for each fault,
 * and one for each sound part. It changes nothing, and a gateway may run meanwhile. Returns 1 for any fault.
 */
export async function checkGateway(
  config: GatewayConfig,
  { out }: { readonly out: (text: string) => void },
): Promise<number> {
  const { configuration, faults, keyFaults } = await readConfiguration(config.config, backends);
  const { identity: storeIdentity, ...store } = await checkStore(config, configuration);
  const metrics = config['metrics-listen'];
  const findings: readonly Finding[] = [
    { part: 'configuration', faults },
    {
      part: 'keys',
      faults: keyFaults.map(({ cluster, detail }) => `${cluster}: ${detail}`),
      note: noteOfKeys(configuration),
    },
    { part: 'store', ...store },
    await checkKeyFile(config),
    await checkCertificate(config),
    { part: 'address', ...(await checkAddress(config.listen)) },
    ...(metrics ? [{ part: 'metrics address', ...(await checkAddress(metrics)) }] : []),
    ...(await checkCollector(config['otlp-endpoint'])),
    ...(configuration
      ? await checkPools(configuration, { config, storeIdentity })
      : [{ part: 'pools', faults: [], note: 'the configuration has faults' }]),
  ];
  for (const { part, faults: found, note, warning } of findings) {
    const ok = warning === undefined ? 'ok' : `ok, but ${warning}`;
    const sound = note === undefined ? ok : `not checked: ${note}`;
    for (const line of found.length > 0 ? found : [sound]) out(`${part}: ${line}\n`);
  }
  return findings.some(({ faults: found }) => found.length > 0) ? 1 : 0;
}

/**
 * Lists the faults of the configuration file and of the key files that it names. Packages with backends are looked up from
 * `packagesFrom`, by default the directory of the file.
 */
export async function findConfigurationFaults(
  path: string,
  packagesFrom?: string,
): Promise<readonly string[]> {
  const options = packagesFrom === undefined ? {} : { packagesFrom };
  const { faults, keyFaults } = await readConfiguration(path, backends, options);
  return [...faults, ...keyFaults.map(({ detail }) => detail)];
}

function noteOfKeys(configuration: Configuration | undefined): string | undefined {
  if (!configuration) return 'the configuration has faults';
  const { clusters, operators } = configuration.file;
  const trusted = [...Object.values(clusters).map(({ serviceAccount }) => serviceAccount), operators?.oidc];
  const issuers = trusted.flatMap(one => (one?.keys === discovered ? [`"${one.issuer}"`] : []));
  if (issuers.length === 0) return undefined;
  return `a running gateway reads the keys of ${issuers.join(' and ')}; the key files are ok`;
}

/**
 * Checks the store: that a gateway would accept it, and that the pools that it has something in are configured. A
 * missing file is created at the start.
 */
async function checkStore(
  { store, 'adopt-store': isAdopted }: GatewayConfig,
  configuration: Configuration | undefined,
) {
  if (store.kind === 'sqlite' && !existsSync(store.path))
    return {
      faults: await directoryFaults(dirname(store.path), 'the directory of the store'),
      identity: { id: undefined },
      note: `"${store.path}" does not exist; the first start makes it`,
    };
  let identity: StoreIdentity | undefined;
  let note: string | undefined;
  const unknown: string[] = [];
  const faults = await faultsOf(async () => {
    const engine = await openStore(store);
    await using _ = { [Symbol.asyncDispose]: () => engine.close() };
    const { id, version } = await inspect(engine.reader, { isAdopted });
    identity = { id };
    if (version !== schemaVersion)
      note = 'its tables, which the start makes or upgrades; the connection is ok';
    else if (configuration)
      unknown.push(...(await findUnknownPools(engine.reader, Object.keys(configuration.file.pools))));
  });
  return { faults: [...faults, ...unknown], identity, note };
}

/** Checks the file with the gateway's own keys. A missing one is created at the start. */
async function checkKeyFile(config: GatewayConfig): Promise<Finding> {
  const part = 'key file';
  const path = keyFileOf(config);
  if (!existsSync(path))
    return {
      part,
      faults: await directoryFaults(dirname(path), 'the directory of the key file'),
      note: `"${path}" does not exist; the first start makes it`,
    };
  return { part, faults: await faultsOf(() => createIdentity('gateway', path).prepare()) };
}

function keyFileOf({ store, 'key-file': given }: GatewayConfig): string {
  return given ?? `${store.path}.keys.json`;
}

async function checkCertificate(config: GatewayConfig): Promise<Finding> {
  let [note, warning]: readonly (string | undefined)[] = [];
  const faults = await faultsOf(async () => {
    const found = findCertificate(config, silentLog);
    if (found) warning = judgeValidity(found.first.cert, Date.now());
    else note = 'without --tls-cert-file the gateway serves plain HTTP';
  });
  return { part: 'certificate', faults, note, warning };
}

/** Sends a request without spans to the collector of traces, if there is one. */
async function checkCollector(endpoint: string | undefined): Promise<readonly Finding[]> {
  if (endpoint === undefined) return [];
  return [{ part: 'trace collector', faults: await faultsOf(() => sendNoSpans(endpoint)) }];
}

/** Checks an address. A gateway that already serves there is no fault. */
async function checkAddress({ host, port }: GatewayConfig['listen']) {
  let note: string | undefined;
  const faults = await faultsOf(async () => {
    await using server = createServer();
    await once(server.listen(port, host), 'listening').catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EADDRINUSE') throw error;
      note = `another process, perhaps the gateway, serves "${host}:${port}" now`;
    });
  });
  return { faults, note };
}

/** The id of a store; undefined for a new one. */
type StoreIdentity = { readonly id: string | undefined };
type CheckedParts = {
  readonly config: GatewayConfig;
  /** Undefined if the gateway cannot use the store. */
  readonly storeIdentity: StoreIdentity | undefined;
};

async function checkPools(
  { file, plugins }: Configuration,
  { config, storeIdentity }: CheckedParts,
): Promise<readonly Finding[]> {
  const context: Omit<PoolContext, 'name'> = { log: silentLog, directory: dirname(config.config) };
  const check = async (name: string, { backend, settings }: PoolEntry): Promise<Finding> => {
    const part = `pool ${name}`;
    const plugin = plugins[backend];
    if (!plugin?.check) return { part, faults: [], note: 'a check would have to open the pool' };
    const { identity, lacks } = identify(config, storeIdentity?.id);
    const missing: string[] = [];
    const faults = await faultsOf(async () =>
      missing.push(...((await plugin.check?.(settings, { ...context, name, identity })) ?? [])),
    );
    const note = lacks();
    if (note !== undefined) return { part, faults: [], note };
    const found = [...missing, ...faults];
    if (found.length > 0) return { part, faults: found };
    return { part, ...(await checkOwner(plugin, { name, settings, config, storeIdentity })) };
  };
  return Promise.all(Object.entries(file.pools).map(([name, entry]) => check(name, entry)));
}

type CheckedPool = CheckedParts & Pick<PoolEntry, 'settings'> & { readonly name: string };

/** Checks whose pool it is, as far as its mark shows it. */
async function checkOwner(
  { readOwner }: BackendPlugin,
  { name, settings, config, storeIdentity }: CheckedPool,
): Promise<Omit<Finding, 'part'>> {
  let note: string | undefined;
  const faults = await faultsOf(async () => {
    const found = await readOwner?.(settings);
    note = storeIdentity
      ? judgeMark(found, { name, ...storeIdentity, adopted: config['adopt-pools'] ?? [] })
      : 'whose pool it is, because the store cannot be used; all else is ok';
  });
  return { faults, note };
}

/**
 * Makes the identity that the gateway would have. `lacks` says why a pool that asked for a token could not get one,
 * because a check makes no key file.
 */
function identify(config: GatewayConfig, storeId: string | undefined) {
  const keyFile = keyFileOf(config);
  const name = config['gateway-name'] ?? (storeId && `gateway-${storeId.slice(0, 8)}`) ?? 'gateway';
  const made = createIdentity(name, keyFile);
  let note: string | undefined;
  const identity: Identity = {
    name,
    async token(audience, renew) {
      if (existsSync(keyFile)) return made.token(audience, renew);
      note = `its storage wants a token, and the key file "${keyFile}" does not exist; the first start makes it`;
      throw unavailableProblem(note);
    },
  };
  return { identity, lacks: () => note };
}

async function faultsOf(work: () => Promise<unknown>): Promise<readonly string[]> {
  try {
    await work();
    return [];
  } catch (error) {
    return [describeStartFault(error)];
  }
}
