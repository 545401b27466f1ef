import { chmodSync, linkSync, rmSync } from 'node:fs';
import { promisify } from 'node:util';
import {
  logVerbosity,
  Server,
  ServerCredentials,
  setLogVerbosity,
  type ServiceDefinition,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import type { Log } from '../lib/log.ts';
import type { Observer } from '../tracing/trace.ts';
import { reasonOf } from '../lib/words/failures.ts';
import {
  clearSocketPath,
  fileIdentity,
  lockSocketDirectory,
  randomNameBeside,
  removeSocket,
  requireSocketPath,
} from '../lib/unix-socket.ts';
import { toGrpcHandler, toGrpcStream, type StreamHandler, type UnaryHandler } from './call.ts';

/** A gRPC service: its methods, and the handlers of the methods that are implemented. */
export type Service = {
  readonly definition: ServiceDefinition;
  // `toImplementation` only passes handlers on; `Handlers` checks their types at their definition.
  readonly handlers: Readonly<
    Record<string, UnaryHandler<never, unknown> | StreamHandler<never, unknown> | undefined>
  >;
  /** The log level of a successful call; default `debug`. */
  readonly level?: 'debug' | 'info';
};

type ServeOptions = {
  readonly socketPath: string;
  readonly services: readonly Service[];
  readonly log: Log;
  readonly observe?: Observer | undefined;
};

export type GrpcServer = Awaited<ReturnType<typeof serve>>;

// grpc-js writes its own lines to standard error, beside the errors that it reports.
setLogVerbosity(logVerbosity.NONE);

/** grpc-js's own statistics, which have no reader, would take a sixth of the time of each call. */
const quiet = { 'grpc.enable_channelz': 0 };
const drainMs = 3_000;

/**
 * Serves on a UNIX socket. Replaces a socket file without a listener. Rejects when a live instance listens there, or
 * when the path is not a socket. When the file is removed later, the liveness probe fails and the program is
 * restarted.
 */
export async function serve(options: ServeOptions) {
  const { socketPath, services, log } = options;
  const server = new Server(quiet);
  for (const service of services) server.addService(service.definition, toImplementation(service, options));
  const { address, own } = await takePath(server, socketPath, log);
  const isBound = (): boolean => fileIdentity(socketPath) === own;
  return {
    /** True while the path still leads to this server's socket. */
    isBound,
    /** Lets running calls end, for at most 3 s, and removes the socket unless another instance has taken its path. */
    async close(): Promise<void> {
      const removed = isBound() ? removeOwn(socketPath, own, log) : undefined;
      // After 3 s, aborts the calls that are still running, even while another process holds the directory's lock.
      server.drain(address, drainMs);
      const ended = new Promise<void>(resolve => server.tryShutdown(() => resolve()));
      await Promise.all([removed, ended]).finally(() => ended);
    },
  };
}

async function removeOwn(socketPath: string, own: string | undefined, log: Log): Promise<void> {
  const release = await lockSocketDirectory(socketPath, log);
  try {
    if (own !== undefined) removeSocket(socketPath, own);
  } finally {
    release();
  }
}

/** Takes the path under the directory's lock, so that exactly one of several instances that start together gets it. */
async function takePath(server: Server, socketPath: string, log: Log) {
  requireSocketPath(socketPath);
  const release = await lockSocketDirectory(socketPath, log);
  try {
    await clearSocketPath(socketPath);
    return { address: await bind(server, socketPath), own: fileIdentity(socketPath) };
  } finally {
    release();
  }
}

/**
 * Binds under a random name, restricts access, and links the socket to its path only then: no one can connect before.
 * A listener unlinks the name that it was bound by when it closes, so closing removes no other instance's socket.
 */
async function bind(server: Server, socketPath: string): Promise<string> {
  const draft = randomNameBeside(socketPath);
  const address = `unix:${draft}`;
  try {
    await promisify(server.bindAsync.bind(server))(address, ServerCredentials.createInsecure());
    chmodSync(draft, 0o660);
    linkSync(draft, socketPath);
  } catch (error) {
    server.forceShutdown();
    throw new Error(`cannot listen on socket "${socketPath}": ${reasonOf(withCode(error as Error))}`, {
      cause: error,
    });
  } finally {
    rmSync(draft, { force: true });
  }
  return address;
}

/** Adds the system's code, which grpc-js gives only in its text, as in `errors: [listen EACCES: …]`. */
function withCode(error: Error): Error {
  const [, code] = /\[\w+ (E[A-Z]+): /.exec(error.message) ?? [];
  return code === undefined ? error : Object.assign(new Error(error.message), { code });
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
        ? toGrpcStream(edge, handler as StreamHandler<unknown, unknown>)
        : toGrpcHandler(edge, handler as UnaryHandler<unknown, unknown>);
  }
  return implementation;
}
