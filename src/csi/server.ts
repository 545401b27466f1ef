import { chmodSync, lstatSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { dirname } from 'node:path';
import { Server, ServerCredentials, type UntypedServiceImplementation } from '@grpc/grpc-js';
import type { Log } from '../lib/log.ts';
import type { Definition } from './protocol.ts';
import { toGrpcHandler, type Unary } from './unary.ts';

/** One gRPC service: its methods, and the handlers of those that are offered. */
export type Service = {
  readonly definition: Definition;
  // The handlers' own types are checked where they are made; the server only carries them.
  readonly handlers: Readonly<Record<string, Unary<never, unknown> | undefined>>;
};

/** Where to listen, and what to serve. `socketPath` is an absolute path. */
export type ServeOptions = {
  readonly socketPath: string;
  readonly services: readonly Service[];
  readonly log: Log;
};

/** A server that accepts calls. `close` lets running calls end, within a bound, and removes the socket. */
export interface GrpcServer {
  close(): Promise<void>;
}

const drainMs = 3_000;

/**
 * Serves on a UNIX socket. A socket file that nobody answers is replaced; one that a live instance answers is an
 * error, and that instance is not disturbed. What is no socket is never replaced.
 */
export async function serve({ socketPath, services, log }: ServeOptions): Promise<GrpcServer> {
  refusePlace(socketPath);
  if (await isSocketAnswered(socketPath))
    throw new Error(`socket "${socketPath}" is in use by a live instance`);
  rmSync(socketPath, { force: true });
  const server = new Server();
  for (const { definition, handlers } of services)
    server.addService(definition, toImplementation(handlers, log));
  await new Promise<void>((resolve, reject) => {
    server.bindAsync(`unix://${socketPath}`, ServerCredentials.createInsecure(), error => {
      if (error)
        reject(new Error(`cannot listen on socket "${socketPath}": ${error.message}`, { cause: error }));
      else resolve();
    });
  });
  chmodSync(socketPath, 0o660);
  return { close: () => shutDown(server) };
}

function refusePlace(socketPath: string): void {
  const dir = dirname(socketPath);
  if (!lstatSync(dir, { throwIfNoEntry: false }))
    throw new Error(`directory "${dir}" of socket "${socketPath}" does not exist`);
  const found = lstatSync(socketPath, { throwIfNoEntry: false });
  if (found && !found.isSocket()) throw new Error(`"${socketPath}" exists and is not a socket`);
}

function toImplementation(handlers: Service['handlers'], log: Log): UntypedServiceImplementation {
  const present = Object.entries(handlers).flatMap(([rpc, handler]) =>
    handler ? [[rpc, toGrpcHandler(rpc, handler, log)]] : [],
  );
  return Object.fromEntries(present) as UntypedServiceImplementation;
}

function shutDown(server: Server): Promise<void> {
  return new Promise(resolve => {
    const force = setTimeout(() => {
      server.forceShutdown();
      resolve();
    }, drainMs);
    server.tryShutdown(() => {
      clearTimeout(force);
      resolve();
    });
  });
}

/** True when somebody accepts connections on the socket; false when it is missing or left behind. */
export function isSocketAnswered(socketPath: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = connect(socketPath);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT' || error.code === 'ECONNREFUSED') resolve(false);
      else
        reject(
          new Error(`cannot use socket "${socketPath}" (${error.code ?? error.message})`, { cause: error }),
        );
    });
  });
}
