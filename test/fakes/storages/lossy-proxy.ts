import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import type { TestContext } from 'node:test';

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
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.after(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    open: () => sockets.size,
    maxOpen: () => maxOpen,
    lost: () => lost,
  };
}
