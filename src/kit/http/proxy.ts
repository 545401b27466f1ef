import { once } from 'node:events';
import { connect, createServer, isIP, type AddressInfo, type Socket } from 'node:net';
import { finished } from 'node:stream/promises';
import { connect as connectTls, TLSSocket } from 'node:tls';
import { pause } from '../../lib/concurrency.ts';
import { addressOf, type Target } from './exchange.ts';

export type NetworkFault =
  /** The vendor gets the whole request; its answer is thrown away when it comes. */
  | { readonly kind: 'cut-answer' }
  /** The vendor gets the whole request; the connection is closed at once afterwards. */
  | { readonly kind: 'hang-up' }
  /** The vendor gets the head and half of the body. */
  | { readonly kind: 'cut-request' }
  /**
   * The vendor gets the request only after the promise of `until`, which is called once the whole request is here, and with
   * `isDialled` once the connection to the vendor is open. A vendor that serves one connection at a time then waits for it.
   */
  | { readonly kind: 'hold'; readonly until: () => Promise<unknown>; readonly isDialled?: boolean }
  /** The vendor gets the request twice at once; the caller gets one of the answers. */
  | { readonly kind: 'duplicate' }
  /** The vendor gets the request in small pieces, with pauses. */
  | { readonly kind: 'drip' };

/** A proxy for one connection with one request. */
export type Proxy = {
  readonly port: number;
  /** Resolves when the vendor has received its part of the request, and its answers have been passed on or thrown away. */
  readonly done: Promise<void>;
  close(): void;
};

const dripPieces = 12;
const dripPauseMs = 2;

/** Opens a proxy on this machine that passes one request on with this fault. */
export async function openProxy(target: Target, fault: NetworkFault): Promise<Proxy> {
  const sockets = new Set<Socket>();
  const keep = <S extends Socket>(socket: S): S => {
    sockets.add(socket);
    return socket.on('error', () => {});
  };
  const server = createServer({ allowHalfOpen: true });
  const accepted = once(server, 'connection') as Promise<[Socket]>;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const close = (): void => {
    server.close();
    for (const socket of sockets) socket.destroy();
  };
  const serve = async (): Promise<void> => {
    const [client] = await accepted;
    try {
      await carry({ client: keep(client), dial: () => keep(dial(target)), fault });
    } finally {
      close();
    }
  };
  const done = serve();
  // The caller notices a failure by the end of its connection.
  done.catch(() => {});
  return { port: (server.address() as AddressInfo).port, done, close };
}

type Transfer = { readonly client: Socket; readonly dial: () => Socket; readonly fault: NetworkFault };

async function carry({ client, dial: open, fault }: Transfer): Promise<void> {
  const request = await readRequest(client);
  const early = fault.kind === 'hold' && fault.isDialled ? open() : undefined;
  if (early) await opened(early);
  if (fault.kind === 'hold') await fault.until();
  const vendor = early ?? open();
  if (fault.kind === 'cut-request') {
    const whole = request.head + Math.floor((request.bytes.length - request.head) / 2);
    await write(vendor, request.bytes.subarray(0, whole));
  } else if (fault.kind === 'drip') await drip(vendor, request.bytes);
  else await write(vendor, request.bytes);
  if (fault.kind === 'hang-up' || fault.kind === 'cut-request') return void vendor.end();
  if (fault.kind === 'cut-answer') return void (await firstBytes(vendor));
  const twin = fault.kind === 'duplicate' ? open() : undefined;
  if (twin) await write(twin, request.bytes);
  vendor.pipe(client);
  await Promise.all([ended(vendor), twin?.resume() && ended(twin)]);
  // The pipe ends the client's connection.
  await finished(client, { readable: false }).catch(() => {});
}

function dial({ url, tls }: Target): Socket {
  const { host, port } = addressOf(url);
  // TLS allows no IP address as server name; the certificate is still checked against the address.
  const servername = isIP(host) ? '' : host;
  return url.protocol === 'https:' ? connectTls({ host, port, servername, ...tls }) : connect(port, host);
}

/** Waits until the connection is open, or has failed. */
async function opened(socket: Socket): Promise<void> {
  const name = socket instanceof TLSSocket ? 'secureConnect' : 'connect';
  await new Promise<void>(resolve => {
    socket.once(name, () => resolve()).once('close', () => resolve());
  });
}

/** Reads a whole request; `head` is the length of its head in bytes. */
async function readRequest(client: Socket): Promise<{ readonly bytes: Buffer; readonly head: number }> {
  let bytes = Buffer.alloc(0);
  return new Promise((resolve, reject) => {
    client.once('close', () => reject(new Error('the caller went away')));
    client.on('data', (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk]);
      const head = bytes.indexOf('\r\n\r\n') + 4;
      if (head < 4) return;
      const length = /^content-length: *(\d+)/im.exec(bytes.toString('latin1', 0, head))?.[1] ?? 0;
      if (bytes.length >= head + Number(length)) resolve({ bytes, head });
    });
  });
}

async function write(socket: Socket, bytes: Buffer): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    socket.write(bytes, error => (error ? reject(error) : resolve()));
  });
}

async function drip(socket: Socket, bytes: Buffer): Promise<void> {
  socket.setNoDelay(true);
  const step = Math.ceil(bytes.length / dripPieces);
  for (let at = 0; at < bytes.length; at += step) {
    await write(socket, bytes.subarray(at, at + step));
    await pause(dripPauseMs);
  }
}

async function firstBytes(socket: Socket): Promise<void> {
  await new Promise<void>(resolve => {
    socket.once('data', () => resolve()).once('close', () => resolve());
  });
}

async function ended(socket: Socket): Promise<void> {
  if (socket.destroyed || socket.readableEnded) return;
  await new Promise<void>(resolve => {
    socket.once('end', () => resolve()).once('close', () => resolve());
  });
}
