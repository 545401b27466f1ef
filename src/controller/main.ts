import { createClient } from '../api/client.ts';
import type { ExchangeOptions } from '../api/http/exchange.ts';
import { fetchGatewayKeys } from '../api/http/gateway-keys.ts';
import { readTlsFiles } from '../api/http/tls-files.ts';
import { createTokenSource, readKey, readTokenFile, type TokenSource } from '../api/http/tokens.ts';
import { createIdentity } from '../csi/identity.ts';
import { loadCsi } from '../csi/protocol.ts';
import { serve, type Service } from '../csi/server.ts';
import type { RunningProgram } from '../lib/lifecycle.ts';
import type { Log } from '../lib/log.ts';
import { requirePrivate } from '../lib/parsers.ts';
import { openTracer } from '../tracing/tracer.ts';
import { createCapabilitySource, findDisagreements } from './capabilities.ts';
import type { ControllerConfig } from './config.ts';
import { createController } from './controller.ts';
import { createGroupController } from './group-controller.ts';
import { startHealth } from './health.ts';
import { createMetrics } from './metrics.ts';
import { createSnapshotMetadata } from './snapshot-metadata.ts';
import { createStorage } from './vendor.ts';

/**
 * Starts the controller: serves CSI without the Node service on a UNIX socket, and translates it into Storage API
 * calls.
 */
export async function startController(config: ControllerConfig, log: Log): Promise<RunningProgram> {
  if (!config['allow-http']) requirePrivate(config.gateway);
  const token = await openTokens(config);
  const tls = readTlsFiles({
    ca: config['ca-file'],
    cert: config['tls-cert-file'],
    key: config['tls-key-file'],
  });
  await using opened = new AsyncDisposableStack();
  const tracer = await openTracer('controller', config['otlp-endpoint'], log);
  opened.defer(() => tracer?.close());
  const metrics = createMetrics(tracer);
  const http = createClient({ url: config.gateway, token, tls, observe: metrics.observeCall });
  opened.defer(() => http.close());
  const csi = loadCsi();
  const advertised = config['plugin-capabilities'];
  const capabilities = createCapabilitySource(http, log, {
    onChange(storage) {
      for (const disagreement of findDisagreements(advertised, storage)) log.warn(disagreement);
    },
  });
  opened.defer(() => capabilities.close());
  const client = createStorage(http, capabilities);
  const identity = createIdentity({
    driverName: config['driver-name'],
    advertised,
    isReady: () => capabilities.isKnown(),
  });
  const options = { client, capabilities, cluster: config.cluster, advertised };
  const services: Service[] = [
    { definition: csi.Identity, handlers: identity },
    { definition: csi.Controller, handlers: createController(options), level: 'info' },
  ];
  if (advertised.includes('group-snapshots'))
    services.push({
      definition: csi.GroupController,
      handlers: createGroupController(options),
      level: 'info',
    });
  if (advertised.includes('changed-blocks'))
    services.push({
      definition: csi.SnapshotMetadata,
      handlers: createSnapshotMetadata(options),
      level: 'info',
    });
  const { kubernetes } = config;
  if (kubernetes !== undefined) {
    const { reportNodes } = await import('./kubernetes/nodes.ts');
    const drainedNodes = config['drained-nodes'];
    const reporting = reportNodes({
      client,
      needsDetails: () => capabilities.isKnown() && capabilities.get().features.includes('node-details'),
      driverName: config['driver-name'],
      kubernetes,
      drainedNodes,
      readGatewayKeys: createKeyReader({ url: config.gateway, tls }, log),
      observeRefused: metrics.observeRefused,
      deadNodes: {
        afterMs: () => (capabilities.isKnown() ? capabilities.get().deadNodes?.afterMs : undefined),
        agentPort: config['agent-port'],
      },
      log,
    });
    opened.defer(() => reporting.close());
  }
  const server = await serve({
    socketPath: config.endpoint,
    services,
    log,
    observe: metrics.observeRpc,
  });
  opened.defer(() => server.close());
  const health = await startHealth(config, metrics, log);
  opened.defer(() => health?.close());
  const open = opened.move();
  const controller = `unix://${config.endpoint}`;
  return {
    ready: { controller, ...(health && { health: health.address }) },
    close: () => open.disposeAsync(),
  };
}

/** Opens the source of the controller's tokens. Rejects when the configured file cannot be used at the start. */
async function openTokens(config: ControllerConfig): Promise<TokenSource> {
  const { 'key-file': keyFile, 'token-file': tokenFile } = config;
  if ((keyFile === undefined) === (tokenFile === undefined))
    throw new Error('set exactly one of --key-file and --token-file');
  if (keyFile === undefined) {
    const token = readTokenFile(tokenFile ?? '');
    await token(false);
    return token;
  }
  await readKey(keyFile);
  return createTokenSource({
    keyFile,
    issuer: config.issuer ?? config.cluster,
    audience: config.audience,
    lifetimeMs: config['token-lifetime'],
  });
}

/** Reads the gateway's public keys. Warns once when the gateway has none. */
function createKeyReader(options: ExchangeOptions, log: Log) {
  let isWarned = false;
  return async () => {
    const found = await fetchGatewayKeys(options);
    if (!found && !isWarned)
      log.warn(
        'the gateway has no key and signs nothing; give it --key-file, or start agents that accept unsigned attachments',
      );
    isWarned = !found;
    return found;
  };
}
