import { lookup } from 'node:dns/promises';
import { openExport, type Export } from './handshake.ts';
import { connectTcp, type Socket } from './libc.ts';
import { ask, nest, type Attribute } from './netlink.ts';

// A program of its own, since its calls block: link.ts size|connect|reconnect|disconnect, and what each needs. It opens
// an export, hands the connection to the kernel, and ends; the kernel has it from then on. What it finds out goes to
// standard output as a number.

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
const flagReadonly = 2;

/** How long the server may take for each step of the negotiation. */
const answerSeconds = 10;
/** A request that is not answered for so long is taken back, and its connection counts as lost. */
const requestSeconds = 30n;
/** How long I/O waits for a new connection before it fails. */
const deadSeconds = 600n;

type Opened = { readonly socket: Socket; readonly found: Export };

async function main([operation, ...rest]: readonly string[]): Promise<string> {
  const [first = '', second = '', third = '', identifier = '', mode, index] = rest;
  if (operation === 'disconnect') {
    ask(commands.disconnect, [[attribute.index, uint32(Number(first))]]);
    return '';
  }
  const { socket, found } = await open(first, Number(second), third);
  if (operation === 'size') return String(found.sizeBytes);
  if (operation === 'reconnect') {
    if (index === undefined) throw new Error('no index');
    reconnect(socket, [[attribute.index, uint32(Number(index))], text(identifier), sockets(socket)]);
    return index;
  }
  const flags = BigInt(mode === 'ro' ? found.flags | flagReadonly : found.flags);
  const answer = ask(commands.connect, [
    ...(index === undefined ? [] : [[attribute.index, uint32(Number(index))] as const]),
    [attribute.sizeBytes, uint64(found.sizeBytes)],
    [attribute.blockBytes, uint64(BigInt(found.blockBytes))],
    [attribute.timeout, uint64(requestSeconds)],
    [attribute.deadTimeout, uint64(deadSeconds)],
    [attribute.serverFlags, uint64(flags)],
    text(identifier),
    sockets(socket),
  ]);
  return String(answer.get(attribute.index)?.readUInt32LE(0) ?? '');
}

/** A kernel whose connections are all alive takes no new one, and says nothing of it. */
function reconnect(socket: Socket, attributes: readonly Attribute[]): void {
  try {
    ask(commands.reconfigure, attributes);
  } finally {
    socket.close();
  }
}

async function open(server: string, port: number, name: string): Promise<Opened> {
  let fault: unknown = new Error('it has no address');
  for (const { address } of await lookup(server, { all: true }))
    try {
      const socket = connectTcp(address, port, answerSeconds);
      const found = openExport(socket, name);
      // From here on it is the kernel that waits, and for as long as it takes.
      socket.setTimeout(0);
      return { socket, found };
    } catch (error) {
      fault = error;
    }
  throw fault;
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

try {
  process.stdout.write(`${await main(process.argv.slice(2))}\n`);
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exitCode = 1;
}
