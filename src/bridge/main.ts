import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { serve } from '@hono/node-server';
import { problemsOf, vendorOperations } from '../api/operations.ts';
import type { RunningProgram } from '../lib/lifecycle.ts';
import type { Log } from '../lib/log.ts';
import { createAuthenticate, createVendor, type VendorOperations } from '../sdk/server/vendor.ts';
import { createAttachments } from './attachments.ts';
import type { BridgeConfig } from './config.ts';
import { connectDriver, toDocumented, topologyCapability } from './driver.ts';
import { toOffer } from './offer.ts';
import { openRecords } from './records.ts';
import { finishInterrupted } from './resources.ts';
import { openSecrets } from './secrets.ts';
import { createSnapshots } from './snapshots.ts';
import { createChanges } from './volume-changes.ts';
import { createVolumes } from './volumes.ts';

/** Starts the bridge: serves the vendor's side of the Storage API, and translates it into calls of a CSI driver. */
export async function startBridge(config: BridgeConfig, log: Log): Promise<RunningProgram> {
  const { 'csi-endpoint': socketPath, 'token-file': tokenFile, jwks, audience } = config;
  if (!tokenFile && !(jwks && audience))
    throw new Error("set --jwks and --audience, for the gateway's own tokens, or --token-file");
  const token = tokenFile && readFileSync(tokenFile, 'utf8').trim();
  const authenticate = createAuthenticate({ token, jwks, audience });
  await using opened = new AsyncDisposableStack();
  const secrets = openSecrets(config['secrets-dir']);
  const driver = await connectDriver({ socketPath, secrets, timeoutMs: config['call-timeout'] }, log);
  opened.defer(() => driver.calls.close());
  const records = openRecords(config.dir, driver.name);
  opened.defer(() => records.close());
  const capabilities = toOffer(driver, config);
  const bridge = { driver, records, limits: capabilities.limits };
  await finishInterrupted(bridge, log);
  const operations = toOffered(capabilities.features, {
    ...createVolumes(bridge),
    ...createChanges(bridge),
    ...createAttachments(bridge, config['node-id']),
    ...createSnapshots(bridge),
  });
  const { fetch } = createVendor({ capabilities, operations, authenticate, areIndependent: true });
  const { host: hostname, port } = config.listen;
  const server = serve({ fetch, hostname, port });
  await once(server, 'listening');
  opened.defer(() => new Promise<void>(resolve => void server.close(() => resolve())));
  const { address, port: actual } = server.address() as AddressInfo;
  if (driver.can(topologyCapability) && !config.topologies)
    log.warn("the driver's volumes have a topology, and clusters do not learn it without --topologies");
  log.info('connected to the driver', { endpoint: socketPath, detail: `${driver.name} ${driver.version}` });
  const open = opened.move();
  return { ready: { bridge: `http://${address}:${actual}` }, close: () => open.disposeAsync() };
}

/** Leaves out the operations of other features, and makes the rest answer only the errors that they document. */
function toOffered(features: readonly string[], operations: VendorOperations): VendorOperations {
  const rows = vendorOperations.flatMap(row => {
    const run = operations[row.id as keyof VendorOperations] as ((input: never) => unknown) | undefined;
    const isOffered = row.vendor === 'required' || (row.vendor && features.includes(row.vendor));
    if (!run || !isOffered) return [];
    const checked = async (input: never): Promise<unknown> => {
      try {
        return await run(input);
      } catch (error) {
        throw toDocumented(error, problemsOf(row));
      }
    };
    return [[row.id, checked] as const];
  });
  return Object.fromEntries(rows);
}
