import { createClient } from '../api/client.ts';
import { createIdentity } from '../csi/identity.ts';
import { loadCsi } from '../csi/protocol.ts';
import { serve, type Service } from '../csi/server.ts';
import type { Running } from '../lib/lifecycle.ts';
import type { Log } from '../lib/log.ts';
import { requirePrivate } from '../lib/parsers.ts';
import { createCapabilitySource, findDisagreements } from './capabilities.ts';
import type { ControllerConfig } from './config.ts';
import { createController } from './controller.ts';
import { createGroupController } from './group-controller.ts';
import { startHealth } from './health.ts';
import { createSnapshotMetadata } from './snapshot-metadata.ts';
import { createTokenSource, readKey } from './tokens.ts';
import { createStorage } from './vendor.ts';

/** Starts the controller: CSI without its Node service on a UNIX socket, translated into Storage API calls. */
export async function startController(config: ControllerConfig, log: Log): Promise<Running> {
  if (config['allow-http'] === 'false') requirePrivate(config.gateway);
  await readKey(config['key-file']);
  const token = createTokenSource({
    keyFile: config['key-file'],
    issuer: config.issuer ?? config.cluster,
    audience: config.audience,
    lifetimeMs: config['token-lifetime'],
  });
  await using opened = new AsyncDisposableStack();
  const http = createClient({ url: config.gateway, token });
  opened.defer(() => http.close());
  const csi = loadCsi();
  const advertised = config['plugin-capabilities'];
  const capabilities = createCapabilitySource(http, log, storage => {
    for (const disagreement of findDisagreements(advertised, storage)) log.warn(disagreement);
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
    { definition: csi.Controller, handlers: createController(options) },
  ];
  if (advertised.includes('group-snapshots'))
    services.push({ definition: csi.GroupController, handlers: createGroupController(options) });
  if (advertised.includes('changed-blocks'))
    services.push({ definition: csi.SnapshotMetadata, handlers: createSnapshotMetadata(options) });
  const { kubernetes } = config;
  if (kubernetes !== undefined) {
    const { reportNodes } = await import('./kubernetes/nodes.ts');
    const drainedNodes = config['drained-nodes'];
    const reporting = reportNodes({
      client,
      driverName: config['driver-name'],
      kubernetes,
      drainedNodes,
      log,
    });
    opened.defer(() => reporting.close());
  }
  const server = await serve({ socketPath: config.endpoint, services, log });
  opened.defer(() => server.close());
  const health = await startHealth(config, log);
  opened.defer(() => health?.close());
  const open = opened.move();
  const controller = `unix://${config.endpoint}`;
  return {
    ready: { controller, ...(health && { health: health.address }) },
    close: () => open.disposeAsync(),
  };
}
