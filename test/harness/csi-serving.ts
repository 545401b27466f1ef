import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Problem } from '../../src/api/problem.ts';
import { connectCsi, type CsiClient } from '../../src/csi/client.ts';
import { createIdentity } from '../../src/csi/identity.ts';
import { loadCsi } from '../../src/csi/protocol.ts';
import { serve, type GrpcServer, type Service } from '../../src/csi/server.ts';
import { pause } from '../../src/lib/concurrency.ts';
import { silentLog, type Log } from '../../src/lib/log.ts';

/** A directory that ends with its test. */
export async function temporaryDir(t: TestContext): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'fairlead-csi-'));
  t.after(() => rm(dir, { recursive: true, force: true }));
  return dir;
}

/** Handlers of the services beside Identity, none where a test is not about them, and where to serve them. */
export type Serving = {
  readonly controller?: Service['handlers'];
  readonly groups?: Service['handlers'];
  readonly metadata?: Service['handlers'];
  readonly log?: Log;
  readonly socketPath?: string;
};

/** A CSI server, and a client of it. */
export type Served = { readonly server: GrpcServer; readonly socketPath: string; readonly csi: CsiClient };

/** Identity and the handlers given, on a socket. */
export async function serveCsi(t: TestContext, serving: Serving = {}): Promise<Served> {
  const { controller = {}, groups = {}, metadata = {}, log = silentLog } = serving;
  const socketPath = serving.socketPath ?? join(await temporaryDir(t), 'csi.sock');
  const csi = loadCsi();
  const services = [
    {
      definition: csi.Identity,
      handlers: createIdentity({ driverName: 'csi.test', isReady: () => true }),
    },
    { definition: csi.Controller, handlers: controller },
    { definition: csi.GroupController, handlers: groups },
    { definition: csi.SnapshotMetadata, handlers: metadata },
  ];
  const server = await serve({ socketPath, services, log });
  t.after(() => server.close());
  return { server, socketPath, csi: clientOf(t, socketPath) };
}

/** A client that ends with its test. */
export function clientOf(t: TestContext, socketPath: string): CsiClient {
  const client = connectCsi(`unix://${socketPath}`);
  t.after(() => client.close());
  return client;
}

/** How often, and for how long, a call is made again, in milliseconds. */
const [everyMs, patienceMs] = [200, 300_000] as const;

/** What passes by itself. */
const passing: ReadonlySet<string> = new Set(['UNAVAILABLE', 'DEADLINE_EXCEEDED']);

/** Calls as kubelet does: again while the answer is UNAVAILABLE or DEADLINE_EXCEEDED, for at most five minutes; then that is thrown. */
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
