import { join } from 'node:path';
import type { Problem } from '../../src/api/problem.ts';
import { connectCsi, type CsiClient } from '../../src/csi/client.ts';
import { createIdentity, type AdvertisedCapabilities } from '../../src/csi/identity.ts';
import { loadCsi, loadNodeCsi } from '../../src/csi/protocol.ts';
import { serve, type GrpcServer, type Service } from '../../src/csi/server.ts';
import { pause } from '../../src/lib/concurrency.ts';
import { silentLog, type Log } from '../../src/lib/log.ts';
import { stackOf, temporaryDirectory, type CleanupScope } from './temporary.ts';

/**
 * Handlers of the services besides Identity, and the place to serve them. A test that is not about a service leaves its
 * handlers out.
 */
type ServerOptions = {
  /** The handlers of a node agent, which serves no other service besides Identity. */
  readonly node?: Service['handlers'];
  readonly controller?: Service['handlers'];
  readonly groups?: Service['handlers'];
  readonly metadata?: Service['handlers'];
  readonly advertised?: AdvertisedCapabilities;
  readonly log?: Log;
  readonly socketPath?: string;
};

type CsiServer = { readonly server: GrpcServer; readonly socketPath: string; readonly csi: CsiClient };

/** Serves Identity and the given handlers on a socket. */
export async function serveCsi(t: CleanupScope, serving: ServerOptions = {}): Promise<CsiServer> {
  const { node, controller = {}, groups = {}, metadata = {}, advertised = [], log = silentLog } = serving;
  const socketPath = serving.socketPath ?? join(temporaryDirectory(t), 'csi.sock');
  const { Identity, Node } = loadNodeCsi();
  const { Controller, GroupController, SnapshotMetadata } = loadCsi();
  const identity = createIdentity({ driverName: 'csi.test', advertised, isReady: () => true });
  const ofController = [
    { definition: Controller, handlers: controller },
    { definition: GroupController, handlers: groups },
    { definition: SnapshotMetadata, handlers: metadata },
  ];
  const services = node ? [{ definition: Node, handlers: node }] : ofController;
  const server = await serve({
    socketPath,
    services: [{ definition: Identity, handlers: identity }, ...services],
    log,
  });
  t.after(() => server.close());
  return { server, socketPath, csi: clientOf(t, socketPath) };
}

/** Opens a client of a socket, by its path or its URL, that closes when its test ends. */
export function clientOf(t: CleanupScope, socket: string): CsiClient {
  const client = connectCsi(socket.startsWith('unix:') ? socket : `unix://${socket}`);
  stackOf(t).defer(() => client.close());
  return client;
}

/** The interval and the total time of retries, in milliseconds. */
const [everyMs, patienceMs] = [200, 300_000] as const;

/** The codes of temporary failures. */
const passing: ReadonlySet<string> = new Set(['UNAVAILABLE', 'DEADLINE_EXCEEDED', 'ABORTED']);

/**
 * Retries a call as kubelet does while the answer is UNAVAILABLE, DEADLINE_EXCEEDED or ABORTED, for at most five minutes;
 * then throws that answer.
 */
export async function untilAvailable<T>(call: () => Promise<T>): Promise<T> {
  const deadlineMs = performance.now() + patienceMs;
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (!passing.has((error as Problem).code) || performance.now() >= deadlineMs) throw error;
    }
    await pause(everyMs);
  }
}
