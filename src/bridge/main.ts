import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { serve } from '@hono/node-server';
import { asProblem } from '../api/problem.ts';
import { forEachAtMost } from '../lib/concurrency.ts';
import { problemsOf, vendorOperations } from '../api/operations.ts';
import type { RunningProgram } from '../lib/lifecycle.ts';
import type { Log } from '../lib/log.ts';
import { createAuthenticate, createVendor, type Offer, type VendorOperations } from '../sdk/server/vendor.ts';
import { createAttachments } from './attachments.ts';
import type { BridgeConfig } from './config.ts';
import {
  accessModesOf,
  connectDriver,
  featuresOf,
  toDocumented,
  topologyCapability,
  type Bridge,
  type Driver,
} from './driver.ts';
import { createDriverVolume } from './driver-volumes.ts';
import { createDriverGroup, createGroups } from './groups.ts';
import { openRecords } from './records.ts';
import { openSecrets } from './secrets.ts';
import { createDriverSnapshot, createSnapshots } from './snapshots.ts';
import { createChanges } from './volume-changes.ts';
import { createVolumes } from './volumes.ts';

/** The pieces of interrupted work that are finished at a time. */
const maxConcurrent = 8;

/** Starts the bridge: serves the vendor's side of the Storage API, and translates it into calls of a CSI driver. */
export async function startBridge(config: BridgeConfig, log: Log): Promise<RunningProgram> {
  const { 'csi-endpoint': endpoint, 'token-file': tokenFile, jwks, audience } = config;
  if (!tokenFile && !(jwks && audience))
    throw new Error("set --jwks and --audience, for the gateway's own tokens, or --token-file");
  const authenticate = createAuthenticate({
    token: tokenFile && readFileSync(tokenFile, 'utf8').trim(),
    jwks,
    audience,
  });
  await using opened = new AsyncDisposableStack();
  const secrets = openSecrets(config['secrets-dir']);
  const driver = await connectDriver({ endpoint, secrets, timeoutMs: config['call-timeout'] }, log);
  opened.defer(() => driver.calls.close());
  const records = openRecords(config.dir, driver.name);
  opened.defer(() => records.close());
  const offer = toOffer(driver, config);
  const bridge = { driver, records, nodeIdOf: config['node-id'] };
  const sized = { ...bridge, limits: offer.limits };
  await finishInterrupted(bridge, log);
  const operations: VendorOperations = {
    ...createVolumes(sized),
    ...createChanges(sized),
    ...createAttachments(bridge),
    ...(driver.can('CREATE_DELETE_SNAPSHOT') && createSnapshots(bridge)),
    ...(offer.features.includes('groups') && createGroups(bridge)),
  };
  const { fetch } = createVendor({
    capabilities: offer,
    operations: documented(operations),
    authenticate,
    areIndependent: true,
  });
  const { host: hostname, port } = config.listen;
  const server = serve({ fetch, hostname, port });
  await once(server, 'listening');
  opened.defer(() => new Promise<void>(resolve => void server.close(() => resolve())));
  const { address, port: actual } = server.address() as AddressInfo;
  if (driver.can(topologyCapability) && !config.topologies)
    log.warn("the driver's volumes have a topology, and clusters do not learn it without --topologies");
  log.info('connected to the driver', { endpoint, detail: `${driver.name} ${driver.version}` });
  const open = opened.move();
  return { ready: { bridge: `http://${address}:${actual}` }, close: () => open.disposeAsync() };
}

function toOffer(driver: Driver, config: BridgeConfig): Offer {
  const { topologies } = config;
  if (topologies && !driver.can(topologyCapability))
    throw new Error(
      `the driver "${driver.name}" has no topology (${topologyCapability}): leave --topologies out`,
    );
  return {
    version: driver.version || 'unknown',
    features: [...featuresOf(driver, topologies)],
    ...(topologies && { topologies }),
    accessModes: [...accessModesOf(driver, config['access-modes'])],
    accessTypes: [...config['access-types']],
    protocols: ['csi'],
    // The driver's node plugin makes filesystems, and does so only where it finds none.
    zeroed: true,
    limits: { stepBytes: config['size-step'], minimumVolumeBytes: config['size-step'] },
    ...(!driver.can('PUBLISH_UNPUBLISH_VOLUME') && { cannotCutOff: true }),
  };
}

/**
 * Finishes the work that the end of an earlier bridge has interrupted, since nobody may ask for it again. Work that fails
 * stays until it is asked for.
 */
async function finishInterrupted(bridge: Bridge, log: Log): Promise<void> {
  const { records } = bridge;
  const works = [
    ...records.unfinished('volume').map(one => () => createDriverVolume(bridge, one)),
    ...records.unfinished('snapshot').map(one => () => createDriverSnapshot(bridge, one)),
    ...records.unfinished('group').map(one => () => createDriverGroup(bridge, one)),
  ];
  await forEachAtMost(maxConcurrent, works, async work => {
    await work().catch((error: unknown) =>
      log.warn('cannot finish interrupted work', { detail: asProblem(error).detail }),
    );
  });
}

/** Makes operations answer only the errors that they document. */
function documented(operations: VendorOperations): VendorOperations {
  const wrapped = vendorOperations.flatMap(row => {
    const run = operations[row.id as keyof VendorOperations] as ((input: never) => unknown) | undefined;
    if (!run) return [];
    const codes = problemsOf(row);
    const checked = async (input: never): Promise<unknown> => {
      try {
        return await run(input);
      } catch (error) {
        throw toDocumented(error, codes);
      }
    };
    return [[row.id, checked] as const];
  });
  return Object.fromEntries(wrapped);
}
