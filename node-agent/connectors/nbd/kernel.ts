import type { Export } from './handshake.ts';
import type { Socket } from './libc.ts';
import { ask, nest, type Attribute } from './netlink.ts';

const commands = { connect: 1, disconnect: 2, reconfigure: 3 };
const attribute = {
  index: 1,
  sizeBytes: 2,
  blockBytes: 3,
  timeout: 4,
  serverFlags: 5,
  sockets: 7,
  deadTimeout: 8,
  identifier: 10,
};

/** A request that is not answered for so long is taken back, and its connection counts as lost. */
const requestSeconds = 30n;
/** How long I/O waits for a new connection before it fails. */
const deadSeconds = 600n;
/** A device that is connected: its index, and the name that the kernel keeps of what it leads to. */
export type Place = { readonly index: number; readonly identifier: string };

/** The same, of a device that is not connected yet and may be any. */
type NewPlace = Pick<Place, 'identifier'> & { readonly index: number | undefined };

/** Connects a device, the one with this index or any that is free, and returns its index. */
export function connectDevice(socket: Socket, found: Export, place: NewPlace): number {
  const { index, identifier } = place;
  const answer = ask(commands.connect, [
    ...(index === undefined ? [] : [[attribute.index, uint32(index)] as const]),
    [attribute.sizeBytes, uint64(found.sizeBytes)],
    [attribute.blockBytes, uint64(BigInt(found.blockBytes))],
    [attribute.timeout, uint64(requestSeconds)],
    [attribute.deadTimeout, uint64(deadSeconds)],
    [attribute.serverFlags, uint64(BigInt(found.flags))],
    text(identifier),
    sockets(socket),
  ]);
  const given = answer.get(attribute.index)?.readUInt32LE(0);
  if (given === undefined) throw new Error('the kernel does not tell which device it connected');
  return given;
}

/** Gives a device a new connection in place of a lost one. A kernel that has lost none takes none, and still succeeds. */
export function reconnectDevice(socket: Socket, { index, identifier }: Place): void {
  ask(commands.reconfigure, [[attribute.index, uint32(index)], text(identifier), sockets(socket)]);
}

/** Ends a device's connection; its I/O fails from then on. */
export function disconnectDevice(index: number): void {
  ask(commands.disconnect, [[attribute.index, uint32(index)]]);
}

function text(identifier: string): Attribute {
  return [attribute.identifier, Buffer.from(`${identifier}\0`)];
}

function sockets(socket: Socket): Attribute {
  return [attribute.sockets, nest([[1, nest([[1, uint32(socket.descriptor)]])]])];
}

function uint32(value: number): Buffer {
  const data = Buffer.alloc(4);
  data.writeUInt32LE(value);
  return data;
}

function uint64(value: bigint): Buffer {
  const data = Buffer.alloc(8);
  data.writeBigUInt64LE(value);
  return data;
}
