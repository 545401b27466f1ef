import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { createAdaptorServer } from '@hono/node-server';
import type { Running } from '../src/lib/lifecycle.ts';
import type { Log } from '../src/lib/log.ts';
import { version } from '../src/lib/version.ts';
import { createApp } from './http/app.ts';
import { createAuthenticate } from './http/auth.ts';
import type { Backend, BackendPlugin } from './backend.ts';
import { backends } from './backends/index.ts';
import { openClusters } from './http/clusters.ts';
import type { GatewayConfig } from './config.ts';
import { warnOfFormerPlaces } from './volumes/former-places.ts';
import { createRecovery, type Recovery } from './operations/recovery.ts';
import { migrate } from './tables/schema.ts';
import { createServices } from './services.ts';
import { openSqlite } from './stores/sqlite.ts';
import { answerUnparsed } from './http/unparsed.ts';
import { readViewer } from './http/viewer.ts';
import { createWork, type WorkStep } from './operations/operation.ts';

/** How long work that runs may take to end when the gateway ends, in milliseconds. */
const closeGraceMs = 3_000;
/** How often what was left unfinished is looked for, in milliseconds. */
const sweepEveryMs = 15_000;
/** Longer than a client keeps an idle connection, so that no request meets a closing one. */
const keepAliveMs = 65_000;

/** What tests put in: other backends, and what is told of each step of the work. */
export type GatewayOptions = {
  readonly plugins?: Plugins;
  readonly checkpoint?: (step: WorkStep) => void;
};

/** Backends by the name that chooses them. */
export type Plugins = Readonly<Record<string, BackendPlugin>>;

/**
 * Starts the gateway and returns once it serves. What cannot be used (the clusters file, the store, the backend, the
 * address) is one thrown error, and what was opened before is closed.
 */
export async function startGateway(
  config: GatewayConfig,
  log: Log,
  { plugins = backends, checkpoint }: GatewayOptions = {},
): Promise<Running> {
  const opened: (() => Promise<void>)[] = [];
  const closeOpened = async (): Promise<void> => {
    for (const close of opened.splice(0).toReversed()) await close();
  };
  try {
    const clusters = await openClusters(config.clustersFile, { log });
    opened.push(() => clusters.close());
    const tls = config.tls && {
      cert: readFileSync(config.tls.certFile),
      key: readFileSync(config.tls.keyFile),
    };
    const backend = await openBackend(config, { plugins, log });
    opened.push(async () => backend.close?.());
    const engine = openSqlite(config.store.path);
    opened.push(() => engine.close());
    await migrate(engine);
    await warnOfFormerPlaces(engine.reader, { backend, log });
    const work = createWork({
      engine,
      leaseMs: config.claimLeaseMs,
      checkpoint,
    });
    const services = createServices({ engine, backend, work, keepDeletedMs: config.keepDeletedMs });
    const authenticate = createAuthenticate(clusters.current, config.audience);
    const docs = { isPublic: config.publicDocs, readViewer };
    const app = createApp({ backend, ...services, authenticate, version, log, docs });
    const server = await listen(app.fetch, { ...config.listen, tls, log });
    const sweeps = startSweeps(createRecovery({ engine, services, log }), log);
    opened.push(() => endWithin(closeGraceMs, server, [sweeps.close(), work.idle()]));
    return { ready: { gateway: urlOf(server, config) }, close: closeOpened };
  } catch (error) {
    await closeOpened();
    throw error;
  }
}

/** Opens the backend that is configured, in the place where it is. */
export async function openBackend(
  { backend: { name, settings, place } }: GatewayConfig,
  { plugins = backends, log }: { readonly plugins?: Plugins; readonly log: Log },
): Promise<Backend> {
  const plugin = plugins[name];
  if (!plugin) throw new Error(`there is no backend "${name}"`);
  const opened = await plugin.open(settings, { name, log });
  if (!place) return opened;
  if (!opened.places) return { ...opened, places: [place] };
  await opened.close?.();
  throw new Error(`--topology: the backend "${opened.name}" knows its places itself`);
}

type ListenOptions = {
  readonly host: string;
  readonly port: number;
  readonly tls: { readonly cert: Buffer; readonly key: Buffer } | undefined;
  readonly log: Log;
};

function listen(
  fetch: (request: Request) => Response | Promise<Response>,
  { host, port, tls, log }: ListenOptions,
): Promise<Server> {
  const server = (
    tls
      ? createAdaptorServer({ fetch, createServer: createTlsServer, serverOptions: tls })
      : createAdaptorServer({ fetch, createServer })
  ) as Server;
  server.keepAliveTimeout = keepAliveMs;
  answerUnparsed(server, log);
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => resolve(server));
  });
}

function urlOf(server: Server, { listen: { host }, tls }: GatewayConfig): string {
  const { port } = server.address() as AddressInfo;
  return `${tls ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** Looks for unfinished work at once, and then now and again: what another replica left shows when its claim ends. */
function startSweeps(recovery: Recovery, log: Log): { close(): Promise<void> } {
  let sweeping: Promise<unknown> | undefined;
  const sweep = (): void => {
    sweeping ??= recovery
      .sweep()
      .catch((error: unknown) => log.warn('could not look for unfinished work', { detail: String(error) }))
      .finally(() => (sweeping = undefined));
  };
  sweep();
  const timer = setInterval(sweep, sweepEveryMs).unref();
  return {
    async close() {
      clearInterval(timer);
      await sweeping;
    },
  };
}

/** Takes no more requests, lets what runs end, and after `graceMs` leaves it: its claims run out, others go on. */
async function endWithin(graceMs: number, server: Server, ending: readonly Promise<void>[]): Promise<void> {
  const closed = new Promise<void>(resolve => {
    server.close(() => resolve());
  });
  let timer: NodeJS.Timeout | undefined;
  const grace = new Promise<void>(resolve => {
    timer = setTimeout(resolve, graceMs);
  });
  await Promise.race([Promise.all([closed, ...ending]), grace]);
  clearTimeout(timer);
  server.closeAllConnections();
}
