import { chmodSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import type { Log } from '../lib/log.ts';

/** Where to listen, and who is given each connection. */
export type ListenerOptions = {
  readonly socketPath: string;
  readonly accept: (connection: Socket) => void;
  readonly log: Log;
};

/** Listens on a UNIX socket's path, as often as its file has to be made. */
export interface Listener {
  /** Makes the file, in place of its own earlier one; another's is an error. Connections that are open are left alone. */
  bind(): Promise<void>;
  /** Accepts no more, and removes the file when it is `isOwn`. */
  close(isOwn: boolean): void;
  /** Resolves once every connection is gone. */
  drained(): Promise<void>;
}

/** Makes a listener that does not listen yet. Owner and group alone may connect to it. */
export function createListener({ socketPath, accept, log }: ListenerOptions): Listener {
  const connections = createConnections();
  let current: Server | undefined;
  return {
    async bind() {
      current?.close();
      const next = createServer(connection => {
        connections.add(connection);
        accept(connection);
      });
      await listen(next, socketPath);
      next.on('error', error =>
        log.warn('a connection was not accepted', { endpoint: socketPath, detail: error.message }),
      );
      chmodSync(socketPath, 0o660);
      current = next;
    },
    close(isOwn) {
      // To close it is to unlink its path: while another holds that, it is left open to the process's end.
      if (isOwn) current?.close();
      else current?.unref();
    },
    drained: () => connections.drained(),
  };
}

async function listen(server: Server, socketPath: string): Promise<void> {
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject).listen(socketPath, resolve);
    });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE')
      throw new Error(`socket "${socketPath}" is in use by a live instance`, { cause: error });
    throw new Error(`cannot listen on socket "${socketPath}": ${(error as Error).message}`, { cause: error });
  }
}

type Connections = { add(connection: Socket): void; drained(): Promise<void> };

function createConnections(): Connections {
  const open = new Set<Socket>();
  let wakeUp: (() => void) | undefined;
  return {
    add(connection) {
      open.add(connection);
      connection.once('close', () => {
        open.delete(connection);
        if (open.size === 0) wakeUp?.();
      });
    },
    drained: () =>
      new Promise(resolve => {
        wakeUp = resolve;
        if (open.size === 0) resolve();
      }),
  };
}
