import { randomUUID } from 'node:crypto';
import { chmodSync, linkSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import {
  Server,
  ServerCredentials,
  type ServiceDefinition,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import type { Log } from '../lib/log.ts';
import type { Observe } from '../lib/tracing/trace.ts';
import { clearSocketPath, fileIdentity, lockSocketPath } from '../lib/unix-socket.ts';
import { toGrpcHandler, toGrpcStream, type Streaming, type Unary } from './call.ts';

/** One gRPC service: its methods, and the handlers of those that are offered. */
export type Service = {
  readonly definition: ServiceDefinition;
  // The handlers' own types are checked where they are made; the server only carries them.
  readonly handlers: Readonly<Record<string, Unary<never, unknown> | Streaming<never, unknown> | undefined>>;
  /** At which level a call that succeeds is logged; without it `debug`. */
  readonly level?: 'debug' | 'info';
};

/** Where to listen, and what to serve. `socketPath` is an absolute path. */
type ServeOptions = {
  readonly socketPath: string;
  readonly services: readonly Service[];
  readonly log: Log;
  readonly observe?: Observe | undefined;
};

/** A server that accepts calls. */
export type GrpcServer = Awaited<ReturnType<typeof serve>>;

/** Statistics of its own that nobody reads cost grpc-js a sixth of each call. */
const quiet = { 'grpc.enable_channelz': 0 };
const drainMs = 3_000;

/**
 * Serves on a UNIX socket. A socket file that nobody answers is replaced; one that a live instance answers is an error,
 * and so is what is no socket. When the file is removed later, a liveness probe has the program started again.
 */
export async function serve(options: ServeOptions) {
  const { socketPath, services } = options;
  const server = new Server(quiet);
  for (const service of services) server.addService(service.definition, toImplementation(service, options));
  const { address, own } = await takePath(server, socketPath);
  const isBound = (): boolean => fileIdentity(socketPath) === own;
  return {
    /** True while the socket at the path is the one that was bound. */
    isBound,
    /** Lets running calls end, within a bound, and removes the socket, unless another instance has its path by now. */
    async close(): Promise<void> {
      const removed = isBound() ? removeBound(socketPath, isBound) : undefined;
      // Calls that have not ended by then are aborted, whoever has the directory locked.
      server.drain(address, drainMs);
      const ended = new Promise<void>(resolve => server.tryShutdown(() => resolve()));
      await Promise.all([removed, ended]).finally(() => ended);
    },
  };
}

async function removeBound(socketPath: string, isBound: () => boolean): Promise<void> {
  const release = await lockSocketPath(socketPath);
  try {
    if (isBound()) rmSync(socketPath);
  } finally {
    release();
  }
}

/** Of several that start together, one gets the path: none looks at it, or changes it, while another does. */
async function takePath(server: Server, socketPath: string) {
  const release = await lockSocketPath(socketPath);
  try {
    await clearSocketPath(socketPath);
    return { address: await bind(server, socketPath), own: fileIdentity(socketPath) };
  } finally {
    release();
  }
}

/**
 * Binds under another name, and gives the socket its own once it listens and only who may can connect. A listener that is
 * closed removes the name that it was bound by, and no other's.
 */
async function bind(server: Server, socketPath: string): Promise<string> {
  const draft = join(dirname(socketPath), `.${randomUUID().slice(0, 7)}`);
  const address = `unix:${draft}`;
  try {
    await promisify(server.bindAsync.bind(server))(address, ServerCredentials.createInsecure());
    chmodSync(draft, 0o660);
    linkSync(draft, socketPath);
  } catch (error) {
    server.forceShutdown();
    throw new Error(`cannot listen on socket "${socketPath}": ${(error as Error).message}`, { cause: error });
  } finally {
    rmSync(draft, { force: true });
  }
  return address;
}

function toImplementation(
  { definition, handlers, level = 'debug' }: Service,
  { log, observe }: ServeOptions,
): UntypedServiceImplementation {
  const implementation: UntypedServiceImplementation = {};
  for (const [rpc, handler] of Object.entries(handlers)) {
    const edge = { rpc, log, level, observe };
    if (handler)
      implementation[rpc] = definition[rpc]?.responseStream
        ? toGrpcStream(edge, handler as Streaming<unknown, unknown>)
        : toGrpcHandler(edge, handler as Unary<unknown, unknown>);
  }
  return implementation;
}
