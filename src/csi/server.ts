import type { Socket } from 'node:net';
import {
  Server,
  ServerCredentials,
  type ConnectionInjector,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { asProblem } from '../api/problem.ts';
import type { Log } from '../lib/log.ts';
import { createListener, type Listener } from './listener.ts';
import type { Definition } from './protocol.ts';
import { keepSocket, whyTaken } from './socket.ts';
import { toGrpcStream, type Streaming } from './streaming.ts';
import { toGrpcHandler, type Unary } from './unary.ts';

/** One gRPC service: its methods, and the handlers of those that are offered. */
export type Service = {
  readonly definition: Definition;
  // The handlers' own types are checked where they are made; the server only carries them.
  readonly handlers?: Readonly<Record<string, Unary<never, unknown> | undefined>>;
  readonly streams?: Readonly<Record<string, Streaming<never, unknown> | undefined>>;
};

/** Told when an RPC begins; what it returns is told the code that the RPC ended with, OK included. */
export type ObserveRpc = (rpc: string) => (code: string) => void;

/** Where to listen, and what to serve. `socketPath` is an absolute path. */
export type ServeOptions = {
  readonly socketPath: string;
  readonly services: readonly Service[];
  readonly log: Log;
  readonly observe?: ObserveRpc | undefined;
};

/** A server that accepts calls. */
export interface GrpcServer {
  /** Removes the socket file and makes it anew, for those who watch the directory. Running calls go on. */
  rebind(): Promise<void>;
  /** Lets running calls end, within a bound, and removes the socket. */
  close(): Promise<void>;
}

/** Statistics of its own that nobody reads cost grpc-js a sixth of each call. */
const quiet = { 'grpc.enable_channelz': 0 };
const drainMs = 3_000;

/**
 * Serves on a UNIX socket, and makes its file again when that is removed at run time. A socket file that nobody answers
 * is replaced; one that a live instance answers is an error at the start and left alone later, and that instance is not
 * disturbed. What is no socket is never replaced.
 */
export async function serve({ socketPath, services, log, observe }: ServeOptions): Promise<GrpcServer> {
  const server = new Server(quiet);
  for (const service of services)
    server.addService(service.definition, toImplementation(service, { log, observe }));
  const injector = server.createConnectionInjector(ServerCredentials.createInsecure());
  const accept = (connection: Socket): void => injector.injectConnection(connection);
  const listener = createListener({ socketPath, accept, log });
  const socket = await keepSocket({ path: socketPath, bind: listener.bind, log });
  return {
    rebind: () => socket.rebind(),
    async close() {
      await socket.close();
      listener.close(socket.isOwn() || (await whyTaken(socketPath)) === undefined);
      await shutDown(server, injector, listener);
    },
  };
}

type Edge = { readonly log: Log; readonly observe: ObserveRpc | undefined };

function toImplementation(
  { handlers = {}, streams = {} }: Service,
  { log, observe }: Edge,
): UntypedServiceImplementation {
  const unary = Object.entries(handlers).flatMap(([rpc, handler]) =>
    handler ? [[rpc, toGrpcHandler(rpc, observe ? observed(rpc, handler, observe) : handler, log)]] : [],
  );
  const streaming = Object.entries(streams).flatMap(([rpc, handler]) =>
    handler ? [[rpc, toGrpcStream(rpc, observe ? observedStream(rpc, handler, observe) : handler, log)]] : [],
  );
  return Object.fromEntries([...unary, ...streaming]) as UntypedServiceImplementation;
}

function observed<Request>(
  rpc: string,
  handler: Unary<Request, unknown>,
  observe: ObserveRpc,
): Unary<Request, unknown> {
  return async (request, call) => {
    const ended = observe(rpc);
    try {
      const response = await handler(request, call);
      ended('OK');
      return response;
    } catch (error) {
      ended(asProblem(error).code);
      throw error;
    }
  };
}

function observedStream<Request>(
  rpc: string,
  handler: Streaming<Request, unknown>,
  observe: ObserveRpc,
): Streaming<Request, unknown> {
  return async function* (request, call) {
    const ended = observe(rpc);
    // What a caller that goes away leaves it at.
    let code = 'CANCELLED';
    try {
      yield* handler(request, call);
      code = 'OK';
    } catch (error) {
      ({ code } = asProblem(error));
      throw error;
    } finally {
      ended(code);
    }
  };
}

/** Lets calls end, within a bound; each connection is told, and closes when it has none left. */
async function shutDown(server: Server, injector: ConnectionInjector, listener: Listener): Promise<void> {
  server.tryShutdown(() => {});
  let timer: NodeJS.Timeout | undefined;
  const patience = new Promise<void>(resolve => (timer = setTimeout(resolve, drainMs)));
  await Promise.race([listener.drained(), patience]);
  clearTimeout(timer);
  // Without channelz the server itself does not know its connections.
  injector.drain(0);
  await listener.drained();
  server.forceShutdown();
}
