import { getSystemErrorMessage } from 'node:util';
import type { Export } from './handshake.ts';
import { openNetlink, type Socket } from './libc.ts';

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
const socketItem = 1;
const socketDescriptor = 1;

/** A request that is not answered for so long is taken back, and its connection counts as lost. */
const requestSeconds = 30n;
/** How long I/O waits for a new connection before it fails. */
const deadSeconds = 600n;

/** A device by its index, or any that is free, and the name that the kernel shows of what it leads to. */
type NamedDevice = { readonly index: number | undefined; readonly identifier: string };

/** Connects a device, and returns its index. */
export function connectDevice(socket: Socket, found: Export, { index, identifier }: NamedDevice): number {
  const answer = ask(commands.connect, [
    [attribute.index, index],
    [attribute.sizeBytes, found.sizeBytes],
    [attribute.blockBytes, BigInt(found.blockBytes)],
    [attribute.timeout, requestSeconds],
    [attribute.deadTimeout, deadSeconds],
    [attribute.serverFlags, BigInt(found.flags)],
    [attribute.identifier, identifier],
    socketsOf(socket),
  ]);
  const given = answer.get(attribute.index)?.readUInt32LE(0);
  if (given === undefined) throw new Error('the kernel does not report which device it connected');
  return given;
}

/** Gives a device a new connection in place of a lost one. A kernel that has lost none takes none, and still succeeds. */
export function reconnectDevice(socket: Socket, { index, identifier }: NamedDevice): void {
  ask(commands.reconfigure, [
    [attribute.index, index],
    [attribute.identifier, identifier],
    socketsOf(socket),
  ]);
}

/** Ends a device's connection; its I/O fails from then on. */
export function disconnectDevice(index: number): void {
  ask(commands.disconnect, [[attribute.index, index]]);
}

/** What an attribute holds: 32 bits, 64 bits, a text, or others. One without a value is left out. */
type Value = number | bigint | string | undefined | readonly Attribute[];
type Attribute = readonly [type: number, value: Value];

function socketsOf({ descriptor }: Socket): Attribute {
  return [attribute.sockets, [[socketItem, [[socketDescriptor, descriptor]]]]];
}

const [controlFamily, getFamily, familyId, familyName] = [0x10, 3, 1, 2];
const requestWithAcknowledgement = 5;
const errorType = 2;
const headBytes = 20;

/** Asks the kernel's `nbd` to do something by generic netlink, waits for the end, and returns the answer's attributes. */
function ask(command: number, attributes: readonly Attribute[]): ReadonlyMap<number, Buffer> {
  const socket = openNetlink();
  try {
    const families = exchange(socket, controlFamily, toBody(getFamily, [[familyName, 'nbd']]));
    const family = families.get(familyId)?.readUInt16LE(0);
    if (family === undefined) throw new Error('the kernel does not know nbd');
    return exchange(socket, family, toBody(command, attributes));
  } finally {
    socket.close();
  }
}

/** Each message comes by itself; the last is the acknowledgement, and an error in it throws. */
function exchange(socket: Socket, type: number, body: Buffer): ReadonlyMap<number, Buffer> {
  const head = Buffer.alloc(16);
  head.writeUInt32LE(head.length + body.length, 0);
  head.writeUInt16LE(type, 4);
  head.writeUInt16LE(requestWithAcknowledgement, 6);
  head.writeUInt32LE(1, 8);
  socket.send(Buffer.concat([head, body]));
  let attributes: ReadonlyMap<number, Buffer> = new Map();
  for (;;) {
    const message = socket.receiveMessage(32 * 1024);
    if (message.readUInt16LE(4) === errorType) {
      const status = message.readInt32LE(16);
      if (status === 0) return attributes;
      throw new Error(`the kernel refuses: ${getSystemErrorMessage(status)}`);
    }
    attributes = readAttributes(message.subarray(headBytes));
  }
}

function toBody(command: number, attributes: readonly Attribute[]): Buffer {
  return Buffer.concat([Buffer.from([command, 1, 0, 0]), encode(attributes)]);
}

function encode(attributes: readonly Attribute[]): Buffer {
  const parts = attributes.map(([type, value]) => {
    if (value === undefined) return Buffer.alloc(0);
    const bytes = toBytes(value);
    const data = Buffer.alloc(Math.ceil((4 + bytes.length) / 4) * 4);
    data.writeUInt16LE(4 + bytes.length, 0);
    data.writeUInt16LE(type, 2);
    data.set(bytes, 4);
    return data;
  });
  return Buffer.concat(parts);
}

function toBytes(value: NonNullable<Value>): Buffer {
  if (typeof value === 'number') return Buffer.from(Uint32Array.of(value).buffer);
  if (typeof value === 'bigint') return Buffer.from(BigUint64Array.of(value).buffer);
  return typeof value === 'string' ? Buffer.from(`${value}\0`) : encode(value);
}

function readAttributes(data: Buffer): ReadonlyMap<number, Buffer> {
  const attributes = new Map<number, Buffer>();
  for (let at = 0; at + 4 <= data.length;) {
    const length = data.readUInt16LE(at);
    if (length < 4) break;
    attributes.set(data.readUInt16LE(at + 2) & 0x3fff, data.subarray(at + 4, at + length));
    at += Math.ceil(length / 4) * 4;
  }
  return attributes;
}
