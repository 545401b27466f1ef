import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { hostname } from 'node:os';
import { getRequestListener, type HttpBindings } from '@hono/node-server';
import { tooManyRequests } from '../src/api/problem.ts';
import { repeat, withinTime } from '../src/lib/concurrency.ts';
import type { RunningProgram } from '../src/lib/lifecycle.ts';
import { type Log, silentLog } from '../src/lib/log.ts';
import { createNotices, withNotice } from '../src/lib/words/notice.ts';
import { openTracer } from '../src/tracing/tracer.ts';
import { restoreAttachments } from './attachments/restore.ts';
import { createScheduledCheck } from './admin/scheduled-check.ts';
import type { Backend } from './backend.ts';
import { backends } from './backends/index.ts';
import type { GatewayConfig } from './config.ts';
import { readAssets } from './console/assets.ts';
import { createProviderLogin } from './console/provider.ts';
import { createSessions } from './console/sessions.ts';
import { openConfiguration } from './configuration/configuration.ts';
import type { Plugins } from './pools/plugins.ts';
import { createGateway, partsOf } from './gateway.ts';
import { findCertificate, type Certificate } from './http/certificate.ts';
import { createConsole } from './http/console.ts';
import {
  leaveUnread,
  limitConnections,
  maxConnections,
  requestLimits,
  whileOpen,
} from './http/connections.ts';
import { createChanges } from './observability/changes.ts';
import { createHistoryRecorder } from './observability/history.ts';
import { createMetrics } from './observability/metrics.ts';
import { observeBackend, observeEngine, observeQueues } from './observability/observe.ts';
import { startObservability } from './observability/pages.ts';
import type { Step } from './operations/operation.ts';
import { createIdentity, type OwnIdentity } from './pools/identity.ts';
import { own, requireOwnable } from './pools/owner.ts';
import { requireKnownPools, type Pool } from './pools/pools.ts';
import { createQueues } from './scheduling/queues.ts';
import { openStore } from './stores/index.ts';
import { migrate } from './tables/schema.ts';

/** The time that an end takes beyond its grace at most, in milliseconds. */
const closeTimeoutMs = 12_000;
/** The interval of the sweeps for unfinished work, in milliseconds. */
const sweepEveryMs = 15_000;
/** The time that pools have before the gateway serves without them, in milliseconds. */
const patienceMs = 500;
/** Until this time after the start, a pool that cannot be opened ends the gateway, in milliseconds. */
const settleMs = 5_000;
/**
 * The interval of the checks of the configuration's files, in milliseconds. A removed key is refused after
 * this time.
 */
const readAgainEveryMs = 2_000;
/** The interval at which the queues are noted for the history, in milliseconds. */
const noteEveryMs = 5_000;
/** Longer than clients keep an idle connection, so that no request meets a closing one. */
const keepAliveTimeout = 65_000;
/** The number of bytes of a body that are read ahead. A body that is never used is work for the garbage collector. */
const highWaterMark = 2 ** 14;
/** Without `joinDuplicateHeaders`, the first of two equal headers counts. With it, two `host` headers are refused. */
const serverOptions = { ...requestLimits, keepAliveTimeout, highWaterMark, joinDuplicateHeaders: true };

/** Parts that tests replace: the backends, and a function that is called at each step of an operation. */
export type GatewayOptions = {
  readonly plugins?: Plugins;
  readonly checkpoint?: ((step: Step) => void) | undefined;
};

/**
 * Starts the gateway and returns once it serves and each pool was opened or has failed, or takes too long. It serves
 * before that, and pools that are not open wait. If the configuration, the store or the address cannot be
 * used, it throws one error, or all faults of the configuration together. Everything that was opened before is
 * closed.
 */
export async function startGateway(
  config: GatewayConfig,
  log: Log,
  { plugins = backends, checkpoint }: GatewayOptions = {},
): Promise<RunningProgram> {
  await using opened = new AsyncDisposableStack();
  const adopted = config['adopt-pools'] ?? [];
  const tracer = await openTracer('gateway', config['otlp-endpoint'], log);
  opened.defer(() => tracer?.close());
  const metrics = createMetrics(tracer);
  const metricsListen = config['metrics-listen'];
  const pages = metricsListen && (await startObservability(metricsListen, log));
  opened.defer(() => pages?.close());
  // The pools are tried first, so that a refused start leaves no empty store and no mark of it behind. The first start
  // therefore waits for slow pools, too.
  if (config.store.kind === 'sqlite' && !existsSync(config.store.path))
    await tryPools(config.config, { plugins, identity: identify(config, 'gateway') }, adopted);
  const opening = withNotice(
    openStore(config.store),
    { what: `the store of "${config.store.path}"` },
    createNotices({ write: line => log.info(line.trimEnd()) }),
  );
  const engine = observeEngine(await opening, metrics.observeStore);
  opened.defer(() => engine.close());
  const id = await migrate(engine, {
    ifCopied: config['adopt-store'] ? 'adopt' : 'refuse',
    ifOlder: config['keep-store-version'] ? 'refuse' : 'upgrade',
  });
  const store = { id, reader: engine.reader, adopted };
  // Without a unique name, two gateways would take each other's volumes at one storage for their own orphans.
  const identity = identify(config, `gateway-${store.id.slice(0, 8)}`);
  const requireOwned = (pool: Pool): Promise<void> => own(pool, store);
  const wrap = ({ name, backend }: Pool): Backend => observeBackend(backend, metrics.observeBackend(name));
  const repeated: ReturnType<typeof repeat>[] = [];
  const configuration = await openConfiguration(config.config, {
    plugins,
    log,
    identity,
    requireOwned,
    restore: pool => restoreAttachments(engine.reader, pool),
    wrap,
    patienceMs,
    // The first is the sweep: work that was left in the pool goes on.
    onLateOpen: () => repeated[0]?.again(),
  });
  opened.defer(() => configuration.close());
  await requireKnownPools(engine.reader, configuration.pools);
  await identity.prepare().catch(reportTo(log, 'attachments cannot be signed'));
  const queues = observeQueues(createQueues(configuration.boundsOf), metrics.startWait);
  const assets = config.console ? await readAssets() : undefined;
  const sources = { reader: engine.reader, queues, pools: configuration.pools };
  const changes = createChanges(sources, { maxListeners: maxListening() });
  const { app, operations, recovery, slices, visits } = createGateway({
    engine,
    queues,
    configuration,
    log,
    ...partsOf(config, identity),
    observer: metrics,
    openConsole:
      assets &&
      (parts => {
        const sessions = createSessions({ ...parts, identity });
        const provider = createProviderLogin(parts.enrolment, sessions);
        return createConsole({ assets, sessions, provider });
      }),
    events: changes,
    checkpoint,
    host: hostname(),
  });
  const certificate = findCertificate(config, log);
  const server = await listen(config, app.fetch, certificate);
  const scheduledCheck = createScheduledCheck(
    { engine, pools: configuration.pools, slices, stuckAfterMs: 0 },
    config['check-every'],
  );
  const recordHistory = createHistoryRecorder({ engine, pools: configuration.pools, queues });
  repeated.push(
    // Unfinished work of another replica shows when its claim ends.
    repeat(() => recovery.sweep().catch(reportTo(log, 'could not look for unfinished work')), sweepEveryMs),
    repeat(
      () => configuration.readAgain().catch(reportTo(log, 'could not read the configuration')),
      readAgainEveryMs,
    ),
    repeat(
      () => scheduledCheck().catch(reportTo(log, 'could not check the storage against the store')),
      Math.min(sweepEveryMs, config['check-every'] || sweepEveryMs),
    ),
    repeat(() => recordHistory().catch(reportTo(log, 'could not record the last minute')), noteEveryMs),
    repeat(async () => certificate?.renew(server as TlsServer), readAgainEveryMs),
  );
  const graceMs = config['shutdown-grace'];
  opened.defer(() => endWithin(graceMs, server, [...repeated.map(one => one.close()), operations.idle()]));
  // Operators listen until the end, and would hold the server open.
  opened.defer(() => changes.close());
  const { refusedKeys: keyFaults } = configuration;
  pages?.use({ engine, ...configuration, keyFaults, ...recovery, ...visits, metrics, queues, slices });
  // The pages report ready only while the API answers, so they end first.
  opened.defer(() => pages?.close());
  await configuration.settle(settleMs);
  const open = opened.move();
  const ready = { gateway: urlOf(server, config), ...(pages && { metrics: pages.address }) };
  return { ready, close: () => open.disposeAsync(), closeTimeoutMs: graceMs + closeTimeoutMs };
}

/** The maximum number of browsers and commands that listen for changes: each holds a connection. */
function maxListening(): number {
  return Math.min(64, Math.floor(maxConnections() / 8));
}

function identify(config: GatewayConfig, unnamed: string): OwnIdentity {
  return createIdentity(
    config['gateway-name'] ?? unnamed,
    config['key-file'] ?? `${config.store.path}.keys.json`,
  );
}

async function tryPools(
  path: string,
  options: { readonly plugins: Plugins; readonly identity: OwnIdentity },
  adopted: readonly string[],
): Promise<void> {
  const requireOwned = (pool: Pool): Promise<void> => requireOwnable(pool, adopted);
  const tried = await openConfiguration(path, {
    ...options,
    log: silentLog,
    requireOwned,
    patienceMs: settleMs,
  });
  await tried.close();
}

async function listen(
  { listen: { host, port } }: GatewayConfig,
  fetch: (request: Request) => Response | Promise<Response>,
  certificate: Certificate | undefined,
): Promise<Server> {
  const answer = getRequestListener(
    async (request, bindings) => {
      const response = await fetch(request);
      const { incoming, outgoing } = bindings as HttpBindings;
      leaveUnread(incoming, outgoing);
      // Node.js would keep the connection of a request that was running when the server stopped listening.
      if (!server.listening) outgoing.setHeader('connection', 'close');
      if (isRefusal(response)) await connections.refuse(incoming);
      return response;
    },
    { autoCleanupIncoming: false },
  );
  const server = certificate
    ? createTlsServer({ ...serverOptions, ...certificate.first }, whileOpen(answer))
    : createServer(serverOptions, whileOpen(answer));
  const connections = limitConnections(server, maxConnections());
  await once(server.listen(port, host), 'listening');
  return server;
}

/** Returns true for an answer to a caller without a valid token, or with too much in flight. */
function isRefusal(response: Response): boolean {
  return response.status === 401 || response.status === tooManyRequests;
}

function urlOf(server: Server, { listen: { host }, ...config }: GatewayConfig): string {
  const { port } = server.address() as AddressInfo;
  const scheme = config['tls-cert-file'] === undefined ? 'http' : 'https';
  return `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

function reportTo(log: Log, message: string): (error: unknown) => void {
  return error => log.warn(message, { detail: String(error) });
}

/**
 * Stops accepting requests and lets running work end. After `graceMs` it leaves the work: its claims expire,
 * and other replicas continue it.
 */
async function endWithin(graceMs: number, server: Server, ending: readonly Promise<void>[]): Promise<void> {
  await withinTime(Promise.all([server[Symbol.asyncDispose](), ...ending]), graceMs);
  server.closeAllConnections();
}
