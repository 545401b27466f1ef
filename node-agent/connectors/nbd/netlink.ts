import { describeError, openNetlink } from './libc.ts';

/** An attribute of a message: its type and its value. */
export type Attribute = readonly [type: number, value: Buffer];

const [controlFamily, getFamily, familyId, familyName] = [0x10, 3, 1, 2];
const [request, acknowledge] = [1, 4];
const errorType = 2;
const headBytes = 20;

/** Asks the kernel's `nbd` to do something, waits until it is done, and returns the attributes of its answer. */
export function ask(command: number, attributes: readonly Attribute[]): ReadonlyMap<number, Buffer> {
  const socket = openNetlink();
  const exchange = (type: number, body: Buffer): ReadonlyMap<number, Buffer> => {
    socket.send(toMessage(type, body));
    return readAnswer(() => socket.receiveMessage(32 * 1024));
  };
  try {
    const name = [[familyName, Buffer.from('nbd\0')]] as const;
    const family = exchange(controlFamily, toBody(getFamily, name)).get(familyId)?.readUInt16LE(0);
    if (family === undefined) throw new Error('the kernel does not know nbd');
    return exchange(family, toBody(command, attributes));
  } finally {
    socket.close();
  }
}

/** Attributes as the value of one. */
export function nest(attributes: readonly Attribute[]): Buffer {
  return Buffer.concat(
    attributes.map(([type, value]) => {
      const data = Buffer.alloc(Math.ceil((4 + value.length) / 4) * 4);
      data.writeUInt16LE(4 + value.length, 0);
      data.writeUInt16LE(type, 2);
      value.copy(data, 4);
      return data;
    }),
  );
}

function toBody(command: number, attributes: readonly Attribute[]): Buffer {
  return Buffer.concat([Buffer.from([command, 1, 0, 0]), nest(attributes)]);
}

function toMessage(type: number, body: Buffer): Buffer {
  const head = Buffer.alloc(16);
  head.writeUInt32LE(head.length + body.length, 0);
  head.writeUInt16LE(type, 4);
  head.writeUInt16LE(request | acknowledge, 6);
  head.writeUInt32LE(1, 8);
  return Buffer.concat([head, body]);
}

/** Reads messages up to the acknowledgement; an error in it throws. */
function readAnswer(receive: () => Buffer): ReadonlyMap<number, Buffer> {
  let attributes = new Map<number, Buffer>();
  for (;;)
    for (const message of split(receive())) {
      if (message.readUInt16LE(4) !== errorType) attributes = readAttributes(message.subarray(headBytes));
      else if (message.readInt32LE(16) === 0) return attributes;
      else throw new Error(`the kernel refuses: ${describeError(-message.readInt32LE(16))}`);
    }
}

/** The messages that came together, each with its head. */
function* split(data: Buffer): Generator<Buffer> {
  for (let at = 0; at + 16 <= data.length;) {
    const length = data.readUInt32LE(at);
    yield data.subarray(at, at + length);
    at += Math.max(16, Math.ceil(length / 4) * 4);
  }
}

function readAttributes(data: Buffer): Map<number, Buffer> {
  const attributes = new Map<number, Buffer>();
  for (let at = 0; at + 4 <= data.length;) {
    const length = data.readUInt16LE(at);
    if (length < 4) break;
    attributes.set(data.readUInt16LE(at + 2) & 0x3fff, data.subarray(at + 4, at + length));
    at += Math.ceil(length / 4) * 4;
  }
  return attributes;
}
