import { connect, createServer, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { listen } from '../../harness/listen.ts';

/** A proxy that loses answers: the server handles the request, and the proxy cuts the connection. */
export type LossyProxy = {
  readonly url: string;
  /** The open connections, and the largest number at a time. */
  readonly open: () => number;
  readonly maxOpen: () => number;
  readonly lost: () => number;
};

/** Starts a proxy that loses one of this many answers; it ends with the test. */
export async function startLossyProxy(
  t: TestContext,
  { url, every }: { readonly url: string; readonly every: number },
): Promise<LossyProxy> {
  const target = new URL(url);
  const sockets = new Set<Socket>();
  let [maxOpen, answers, lost] = [0, 0, 0];
  const server = createServer(socket => {
    const upstream = connect(Number(target.port), target.hostname);
    let isNew = false;
    const cut = (): void => {
      socket.destroy();
      upstream.destroy();
    };
    sockets.add(socket);
    maxOpen = Math.max(maxOpen, sockets.size);
    for (const one of [socket, upstream]) one.on('error', cut).on('close', cut);
    socket.on('close', () => sockets.delete(socket));
    socket.on('data', chunk => {
      isNew = true;
      upstream.write(chunk);
    });
    upstream.on('data', chunk => {
      if (isNew) answers++;
      const isLost = isNew && answers % every === 0;
      isNew = false;
      if (!isLost) return void socket.write(chunk);
      lost++;
      cut();
    });
  });
  const address = await listen(t, server);
  t.after(() => sockets.forEach(socket => socket.destroy()));
  return {
    url: `http://${address}`,
    open: () => sockets.size,
    maxOpen: () => maxOpen,
    lost: () => lost,
  };
}
