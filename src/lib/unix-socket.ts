import { connect } from 'node:net';

/** True when somebody accepts connections on the socket; false when it is missing or left behind. */
export function isSocketAnswered(socketPath: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = connect(socketPath);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', (error: NodeJS.ErrnoException) => {
      if (unanswered.has(error.code)) resolve(false);
      else
        reject(
          new Error(`cannot use socket "${socketPath}" (${error.code ?? error.message})`, { cause: error }),
        );
    });
  });
}

/** How a connection fails on which nobody listens; it is reset by a listener that ends at that moment. */
const unanswered: ReadonlySet<string | undefined> = new Set(['ENOENT', 'ECONNREFUSED', 'ECONNRESET']);
