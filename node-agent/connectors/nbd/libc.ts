import { dlopen, getInt32, toString } from 'node:ffi';

// Node.js itself makes no netlink sockets, and hands no socket of its own to the kernel.
const { functions: libc } = dlopen('libc.so.6', {
  socket: { arguments: ['i32', 'i32', 'i32'], return: 'i32' },
  connect: { arguments: ['i32', 'buffer', 'u32'], return: 'i32' },
  setsockopt: { arguments: ['i32', 'i32', 'i32', 'buffer', 'u32'], return: 'i32' },
  send: { arguments: ['i32', 'buffer', 'u64', 'i32'], return: 'i64' },
  recv: { arguments: ['i32', 'buffer', 'u64', 'i32'], return: 'i64' },
  inet_pton: { arguments: ['i32', 'string', 'buffer'], return: 'i32' },
  close: { arguments: ['i32'], return: 'i32' },
  strerror: { arguments: ['i32'], return: 'pointer' },
  __errno_location: { arguments: [], return: 'pointer' },
});

const { __errno_location: findErrno } = libc;
const [families, stream, raw, cloexec] = [{ inet: 2, inet6: 10, netlink: 16 }, 1, 3, 0o2000000];
const [solSocket, solTcp] = [1, 6];
const [soKeepalive, soReceiveTimeout, soSendTimeout] = [9, 20, 21];
const [tcpNodelay, tcpKeepidle, tcpKeepintvl, tcpKeepcnt] = [1, 4, 5, 6];
const noSignal = 0x4000;
const genericNetlink = 16;

/** A socket that blocks: for a process that does nothing else meanwhile. What fails throws. */
export interface Socket {
  readonly descriptor: number;
  send(data: Buffer): void;
  /** Exactly so many bytes. */
  receive(length: number): Buffer;
  /** One message of at most so many bytes. */
  receiveMessage(maximum: number): Buffer;
  /** How long sending and receiving may take in seconds; 0 for ever. */
  setTimeout(seconds: number): void;
  close(): void;
}

/** A connection over TCP to an address, that asks in vain for 30 seconds when it is idle before it counts as lost. */
export function connectTcp(address: string, port: number, timeoutSeconds: number): Socket {
  const isIpv6 = address.includes(':');
  const family = isIpv6 ? families.inet6 : families.inet;
  const name = Buffer.alloc(isIpv6 ? 28 : 16);
  name.writeUInt16LE(family, 0);
  name.writeUInt16BE(port, 2);
  if (libc.inet_pton(family, address, name.subarray(isIpv6 ? 8 : 4)) !== 1)
    throw new Error(`"${address}" is no address`);
  const socket = open(family, stream, 0);
  socket.setTimeout(timeoutSeconds);
  need(libc.connect(socket.descriptor, name, name.length), 'connect');
  setOption(socket.descriptor, [solTcp, tcpNodelay], int(1));
  setOption(socket.descriptor, [solSocket, soKeepalive], int(1));
  setOption(socket.descriptor, [solTcp, tcpKeepidle], int(15));
  setOption(socket.descriptor, [solTcp, tcpKeepintvl], int(5));
  setOption(socket.descriptor, [solTcp, tcpKeepcnt], int(3));
  return socket;
}

/** A socket to the kernel by generic netlink. */
export function openNetlink(): Socket {
  return open(families.netlink, raw, genericNetlink);
}

function open(family: number, type: number, protocol: number): Socket {
  const descriptor = need(libc.socket(family, type | cloexec, protocol), 'socket');
  const receive = (data: Buffer): number => {
    const count = Number(libc.recv(descriptor, data, BigInt(data.length), 0));
    if (count === 0) throw new Error('the connection was closed');
    return need(count, 'recv');
  };
  return {
    descriptor,
    send(data) {
      for (let sent = 0; sent < data.length;) {
        const rest = data.subarray(sent);
        sent += need(Number(libc.send(descriptor, rest, BigInt(rest.length), noSignal)), 'send');
      }
    },
    receive(length) {
      const data = Buffer.alloc(length);
      for (let got = 0; got < length;) got += receive(data.subarray(got));
      return data;
    },
    receiveMessage(maximum) {
      const data = Buffer.alloc(maximum);
      return data.subarray(0, receive(data));
    },
    setTimeout(seconds) {
      const time = Buffer.alloc(16);
      time.writeBigInt64LE(BigInt(seconds), 0);
      for (const option of [soReceiveTimeout, soSendTimeout])
        setOption(descriptor, [solSocket, option], time);
    },
    close: () => void libc.close(descriptor),
  };
}

/** EAGAIN and EINPROGRESS: what a socket that blocks says when its time is up. */
const timeouts: ReadonlySet<number> = new Set([11, 115]);

function setOption(descriptor: number, [level, option]: readonly [number, number], value: Buffer): void {
  need(libc.setsockopt(descriptor, level, option, value, value.length), 'setsockopt');
}

function int(value: number): Buffer {
  const data = Buffer.alloc(4);
  data.writeInt32LE(value);
  return data;
}

function need(result: number, call: string): number {
  if (result >= 0) return result;
  throw failure(call);
}

function failure(call: string): Error {
  const errno = getInt32(findErrno());
  return new Error(timeouts.has(errno) ? 'it did not answer in time' : `${call}: ${describeError(errno)}`);
}

/** What an error number of the kernel's means. */
export function describeError(errno: number): string {
  return toString(libc.strerror(errno)) ?? `error ${errno}`;
}
