import { connect, createServer, type NetConnectOpts, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { listen } from '../../../harness/listen.ts';

/** A balancer of connections; `cut` ends the open ones, and `refused` counts the targets that accepted none. */
type Balancer = { readonly port: number; cut(): void; refused(): number };

/**
 * Starts a TCP balancer on loopback, which ends with the test: each connection goes to the next target that accepts it,
 * and ends when either side does.
 */
export async function startBalancer(
  t: TestContext,
  targets: () => readonly NetConnectOpts[],
): Promise<Balancer> {
  const sockets = new Set<Socket>();
  let [first, refused] = [0, 0];

  function forward(socket: Socket, left: readonly NetConnectOpts[]): void {
    const [target, ...others] = left;
    if (!target) return void socket.destroy();
    const upstream = connect(target);
    const next = (): void => {
      refused++;
      forward(socket, others);
    };
    upstream.once('error', next).once('connect', () => {
      upstream.off('error', next);
      join(socket, upstream);
    });
  }

  function join(socket: Socket, upstream: Socket): void {
    sockets.add(socket);
    upstream.on('error', () => undefined).on('close', () => socket.destroy());
    socket.on('close', () => {
      sockets.delete(socket);
      upstream.destroy();
    });
    if (socket.destroyed) return void upstream.destroy();
    socket.pipe(upstream).pipe(socket);
  }

  const server = createServer({ noDelay: true }, socket => {
    socket.on('error', () => undefined);
    const all = targets();
    const start = first++ % Math.max(1, all.length);
    forward(socket, [...all.slice(start), ...all.slice(0, start)]);
  });
  const address = await listen(t, server);
  const cut = (): void => sockets.forEach(socket => socket.destroy());
  t.after(cut);
  return { port: Number(address.split(':')[1]), cut, refused: () => refused };
}
