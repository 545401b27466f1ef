import { dlopen, getInt32 } from 'node:ffi';
import { getSystemErrorMessage } from 'node:util';

// Node.js itself makes no netlink sockets, and hands no socket of its own to the kernel.
const { functions: libc } = dlopen('libc.so.6', {
  socket: { arguments: ['i32', 'i32', 'i32'], return: 'i32' },
  connect: { arguments: ['i32', 'buffer', 'u32'], return: 'i32' },
  setsockopt: { arguments: ['i32', 'i32', 'i32', 'buffer', 'u32'], return: 'i32' },
  send: { arguments: ['i32', 'buffer', 'u64', 'i32'], return: 'i64' },
  recv: { arguments: ['i32', 'buffer', 'u64', 'i32'], return: 'i64' },
  inet_pton: { arguments: ['i32', 'string', 'buffer'], return: 'i32' },
  close: { arguments: ['i32'], return: 'i32' },
  __errno_location: { arguments: [], return: 'pointer' },
});

const { __errno_location: findErrno } = libc;
const [families, stream, raw, cloexec] = [{ inet: 2, inet6: 10, netlink: 16 }, 1, 3, 0o2000000];
const [solSocket, solTcp] = [1, 6];
const [soKeepalive, soReceiveTimeout, soSendTimeout] = [9, 20, 21];
const [tcpNodelay, tcpKeepidle, tcpKeepintvl, tcpKeepcnt] = [1, 4, 5, 6];
const noSignal = 0x4000;
const genericNetlink = 16;
/** EAGAIN and EINPROGRESS: the error of a blocking socket whose time is up. */
const timeouts: ReadonlySet<number> = new Set([11, 115]);

/** A socket that blocks: for a process that does nothing else meanwhile. What fails throws. */
export type Socket = ReturnType<typeof open>;

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
  requireDone(libc.connect(socket.descriptor, name, name.length), 'connect');
  for (const [level, option, value] of [
    [solTcp, tcpNodelay, 1],
    [solSocket, soKeepalive, 1],
    [solTcp, tcpKeepidle, 15],
    [solTcp, tcpKeepintvl, 5],
    [solTcp, tcpKeepcnt, 3],
  ] as const)
    socket.setOption(level, option, Int32Array.of(value));
  return socket;
}

/** A socket to the kernel by generic netlink. */
export function openNetlink(): Socket {
  return open(families.netlink, raw, genericNetlink);
}

function open(family: number, type: number, protocol: number) {
  const descriptor = requireDone(libc.socket(family, type | cloexec, protocol), 'socket');
  const receiveInto = (data: Buffer): number => {
    const count = Number(libc.recv(descriptor, data, BigInt(data.length), 0));
    if (count === 0) throw new Error('the connection was closed');
    return requireDone(count, 'recv');
  };
  const setOption = (level: number, option: number, value: Int32Array | BigInt64Array): void => {
    const data = Buffer.from(value.buffer);
    requireDone(libc.setsockopt(descriptor, level, option, data, data.length), 'setsockopt');
  };
  return {
    descriptor,
    setOption,
    send(data: Buffer): void {
      for (let sent = 0; sent < data.length;) {
        const rest = data.subarray(sent);
        sent += requireDone(Number(libc.send(descriptor, rest, BigInt(rest.length), noSignal)), 'send');
      }
    },
    /** Exactly so many bytes. */
    receive(length: number): Buffer {
      const data = Buffer.alloc(length);
      for (let got = 0; got < length;) got += receiveInto(data.subarray(got));
      return data;
    },
    /** One message of at most so many bytes. */
    receiveMessage(maximum: number): Buffer {
      const data = Buffer.alloc(maximum);
      return data.subarray(0, receiveInto(data));
    },
    /** How long sending and receiving may take in seconds; 0 for ever. */
    setTimeout(seconds: number): void {
      for (const option of [soReceiveTimeout, soSendTimeout])
        setOption(solSocket, option, BigInt64Array.of(BigInt(seconds), 0n));
    },
    close: () => void libc.close(descriptor),
  };
}

function requireDone(result: number, call: string): number {
  if (result >= 0) return result;
  const errno = getInt32(findErrno());
  throw new Error(
    timeouts.has(errno) ? 'it did not answer in time' : `${call}: ${getSystemErrorMessage(-errno)}`,
  );
}
