import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { dirname } from 'node:path';
import { directoryFaults } from '../src/lib/directories.ts';
import { describeStartFault, startFaultsOf } from '../src/lib/lifecycle.ts';
import { silentLog } from '../src/lib/log.ts';
import { sendNoSpans } from '../src/tracing/tracer.ts';
import { withNotice, type Notices } from '../src/lib/words/notice.ts';
import { backends } from './backends/index.ts';
import type { GatewayConfig } from './config.ts';
import { findCertificate, judgeValidity } from './http/certificate.ts';
import { checkFaultyPool, checkPool, faultsOf, type Finding, type StoreIdentity } from './pools/preflight.ts';
import { createIdentity } from './pools/identity.ts';
import { findUnknownPools } from './pools/pools.ts';
import { openStore } from './stores/index.ts';
import { inspect, schemaVersion } from './tables/schema.ts';
import { discovered } from './configuration/file.ts';
import type { FaultlessParts } from './configuration/faultless.ts';
import { type Data, writtenPoolsOf } from './configuration/mend.ts';
import {
  type Configuration,
  type ConfigurationResult,
  type KeyFault,
  readConfiguration,
} from './configuration/read.ts';

type SoundSettings = Partial<GatewayConfig>;

/** The parts of the configuration that can be checked. */
type UsableParts = Pick<Configuration, 'file' | 'data' | 'plugins'> & Partial<FaultlessParts>;

/** A checked part that may have been left out, because a setting of it has a fault. */
type Part = Finding | undefined | Promise<Finding | undefined>;

const waiting = { what: 'the answers of the storage and the store' };

/**
 * Checks the settings, the files that they name, and the machine for each pool. Prints a line for each fault,
 * and one for each sound part. It changes nothing, and a gateway may run meanwhile. Returns 1 for any fault.
 */
export async function checkGateway(
  config: GatewayConfig,
  { out, notices }: { readonly out: (text: string) => void; readonly notices?: Notices },
): Promise<number> {
  const findings = await withNotice(inspectGateway(config), waiting, notices);
  for (const { part, faults: found, note, warning } of findings) {
    const but = warning === undefined ? '' : `, but ${warning}`;
    const sound = note === undefined ? [`ok${but}`] : [];
    const unchecked = note === undefined ? [] : [`not checked: ${note}${but}`];
    for (const line of [...(found.length > 0 ? found : sound), ...unchecked]) out(`${part}: ${line}\n`);
  }
  return findings.some(({ faults: found }) => found.length > 0) ? 1 : 0;
}

export async function findGatewayFaults(sound: SoundSettings): Promise<readonly string[]> {
  return (await inspectGateway(sound)).flatMap(describeFaults);
}

/** Throws the faults of a failed start, and all others that a check finds. */
export async function throwAllFaults(
  config: GatewayConfig,
  error: unknown,
  notices?: Notices,
): Promise<never> {
  const own = startFaultsOf(error);
  const known = own.map(one => describeStartFault(one)).join('\n');
  const findings = await withNotice(inspectGateway(config), waiting, notices);
  const others = findings.flatMap(({ part, faults }) =>
    describeFaults({ part, faults: faults.filter(fault => !known.includes(fault)) }),
  );
  throw new AggregateError([...own, ...others], known, { cause: error });
}

function describeFaults({ part, faults }: Finding): readonly string[] {
  return part === 'configuration' ? faults : faults.map(fault => `${part}: ${fault}`);
}

/** Checks all parts at the same time. */
async function inspectGateway(config: SoundSettings): Promise<readonly Finding[]> {
  const { config: path, listen, 'metrics-listen': metrics } = config;
  const nothing = { faults: [], keyFaults: [], files: new Map() };
  const read: ConfigurationResult = path === undefined ? nothing : await readConfiguration(path, backends);
  const usable = read.configuration ?? read.faultless;
  const store = checkStore(config, usable);
  const findings: readonly Part[] = [
    { part: 'configuration', faults: read.faults },
    checkKeys(read.keyFaults, usable),
    store.then(({ finding }) => finding),
    checkKeyFile(config),
    checkCertificate(config),
    listen && checkAddress('address', listen),
    metrics && checkAddress('metrics address', metrics),
    checkCollector(config['otlp-endpoint']),
    ...checkPools(usable, { config, storeIdentity: store.then(({ identity }) => identity) }),
  ];
  return (await Promise.all(findings)).filter(one => one !== undefined);
}

const unreadable = 'the configuration cannot be read';

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

function checkKeys(keyFaults: readonly KeyFault[], usable: UsableParts | undefined): Finding {
  const faults = keyFaults.map(({ cluster, detail }) => `${cluster}: ${detail}`);
  if (!usable) return { part: 'keys', faults, note: unreadable };
  const { clusters, operators } = usable.file;
  const trusted = [...Object.values(clusters).map(({ serviceAccount }) => serviceAccount), operators?.oidc];
  const issuers = trusted.flatMap(one => (one?.keys === discovered ? [`"${one.issuer}"`] : []));
  const unchecked = [
    ...(usable.hasFaultyCallers ? ['members of clusters and operators with faults may name others'] : []),
    ...(issuers.length > 0 ? [`a running gateway reads the keys of ${issuers.join(' and ')}`] : []),
  ];
  if (unchecked.length === 0) return { part: 'keys', faults };
  const rest = faults.length > 0 ? '' : '; the key files are ok';
  return { part: 'keys', faults, note: `${unchecked.join(', and ')}${rest}` };
}

/**
 * Checks the store: that a gateway would accept it, and that the pools that it has something in are configured. A
 * missing file is created at the start.
 */
async function checkStore(
  { store, 'adopt-store': isAdopted = false }: SoundSettings,
  usable: UsableParts | undefined,
): Promise<{ readonly finding?: Finding; readonly identity?: StoreIdentity | undefined }> {
  if (!store) return {};
  const part = 'store';
  if (store.kind === 'sqlite' && !existsSync(store.path)) {
    const faults = await directoryFaults(dirname(store.path), 'the directory of the store');
    const note = faults.length > 0 ? undefined : `"${store.path}" does not exist; the first start makes it`;
    return { finding: { part, faults, note }, identity: { id: undefined } };
  }
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
    else if (usable)
      unknown.push(...(await findUnknownPools(engine.reader, Object.keys(writtenPoolsOf(usable.data)))));
    else note = `whether its pools are configured, because ${unreadable}; all else is ok`;
  });
  return { finding: { part, faults: [...faults, ...unknown], note }, identity };
}

/** Checks the file with the gateway's own keys. A missing one is created at the start. */
async function checkKeyFile(config: SoundSettings): Promise<Finding | undefined> {
  const part = 'key file';
  const path = keyFileOf(config);
  if (path === undefined) return undefined;
  if (!existsSync(path)) {
    const faults = await directoryFaults(dirname(path), 'the directory of the key file');
    const note = faults.length > 0 ? undefined : `"${path}" does not exist; the first start makes it`;
    return { part, faults, note };
  }
  return { part, faults: await faultsOf(() => createIdentity('gateway', path).prepare()) };
}

function keyFileOf({ store, 'key-file': given }: SoundSettings): string | undefined {
  return given ?? (store && `${store.path}.keys.json`);
}

async function checkCertificate(config: SoundSettings): Promise<Finding> {
  let [note, warning]: readonly (string | undefined)[] = [];
  const { 'tls-cert-file': cert, 'tls-key-file': key, 'tls-client-ca-file': clientCa } = config;
  const paths = [cert, key, clientCa].filter(path => path !== undefined);
  const missing = await Promise.all(paths.map(path => faultsOf(() => readFile(path))));
  const open = async (): Promise<void> => {
    const found = findCertificate(config, silentLog);
    if (found) warning = judgeValidity(found.first.cert, Date.now());
    else note = 'without --tls-cert-file the gateway serves plain HTTP';
  };
  // With both files it would only find the first missing one again.
  const isFound = missing.flat().length > 0 && cert !== undefined && key !== undefined;
  const faults = [...missing.flat(), ...(isFound ? [] : await faultsOf(open))];
  return { part: 'certificate', faults, note, warning };
}

/** Sends a request without spans to the collector of traces, if there is one. */
async function checkCollector(endpoint: string | undefined): Promise<Finding | undefined> {
  if (endpoint === undefined) return undefined;
  return { part: 'trace collector', faults: await faultsOf(() => sendNoSpans(endpoint)) };
}

/** Checks an address. A gateway that already serves there is no fault. */
async function checkAddress(part: string, { host, port }: GatewayConfig['listen']): Promise<Finding> {
  let note: string | undefined;
  const faults = await faultsOf(async () => {
    await using server = createServer();
    await once(server.listen(port, host), 'listening').catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EADDRINUSE') throw error;
      note = `another process, perhaps the gateway, serves "${host}:${port}" now`;
    });
  });
  return { part, faults, note };
}

/** Checks each pool without a fault in its entry, and the files that the others name. */
function checkPools(
  usable: UsableParts | undefined,
  {
    config,
    storeIdentity,
  }: { readonly config: SoundSettings; readonly storeIdentity: Promise<StoreIdentity | undefined> },
): readonly Part[] {
  const { config: path = '', 'gateway-name': gatewayName, 'adopt-pools': adopted = [] } = config;
  if (!usable) return [{ part: 'pools', faults: [], note: unreadable }];
  const { file, plugins, data } = usable;
  const options = {
    plugins,
    storeIdentity,
    gatewayName,
    adopted,
    keyFile: keyFileOf(config),
    directory: dirname(path),
  };
  return Object.entries(writtenPoolsOf(data)).map(([name, written]) => {
    const entry = Object.hasOwn(file.pools, name) ? file.pools[name] : undefined;
    const pool = { name, written: Object(written) as Data };
    return entry ? checkPool({ ...pool, entry }, options) : checkFaultyPool(pool, options);
  });
}
