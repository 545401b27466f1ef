import { lookup } from 'node:dns/promises';
import { createMachine } from '../../host/linux.ts';
import { grow, readSizeBytes, type Growth } from './growth.ts';
import { openExport, type Export } from './handshake.ts';
import { connectDevice, disconnectDevice, reconnectDevice } from './kernel.ts';
import { connectTcp, lockDirectory, type Socket } from './libc.ts';

// A program of its own, since its calls block: link.ts size|connect|reconnect|grow|disconnect, and what each needs. It
// opens an export, hands the connection to the kernel, and ends; the kernel has it from then on. What it finds out goes
// to standard output as a number. Exit status 2 says that a device cannot grow while it is in use, and has not changed.

/** How long the server may take for each step of the negotiation. */
const answerSeconds = 10;
const flagReadonly = 2;
const statusInUse = 2;

type Opened = { readonly socket: Socket; readonly found: Export };

async function main([operation, ...rest]: readonly string[]): Promise<string> {
  const [first = '', second = '', third = '', identifier = '', mode, fifth] = rest;
  if (operation === 'disconnect') {
    disconnectDevice(Number(first));
    return '';
  }
  const index = fifth === undefined ? undefined : Number(fifth);
  // Of one device no two connections are opened at a time: one that was told an earlier size is never taken later.
  if (index !== undefined) lockDirectory(`/sys/block/nbd${index}`);
  const { socket, found } = await open(first, Number(second), third);
  if (operation === 'size') return String(found.sizeBytes);
  if (operation === 'connect') {
    const flags = mode === 'ro' ? found.flags | flagReadonly : found.flags;
    return String(connectDevice(socket, { ...found, flags }, { index, identifier }));
  }
  if (index === undefined) throw new Error('no index');
  await renew(operation, { socket, found, port: Number(second), place: { index, identifier } });
  return String(index);
}

/** Gives a device the new connection, when it has lost its own or shall grow. */
async function renew(operation: string | undefined, growth: Growth): Promise<void> {
  const host = createMachine({ timeoutMs: 0 });
  const { socket, found, place } = growth;
  try {
    const sizeBytes = await readSizeBytes(place.index, host);
    if (found.sizeBytes < sizeBytes)
      throw new Error(`the server has ${found.sizeBytes} bytes, and the device ${sizeBytes}`);
    const reason = operation === 'grow' ? await grow(growth, host) : undefined;
    if (operation === 'reconnect') reconnectDevice(socket, place);
    if (reason === undefined) return;
    process.stderr.write(`${reason}\n`);
    process.exitCode = statusInUse;
  } finally {
    // A kernel whose connections are all alive has taken no new one.
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

try {
  process.stdout.write(`${await main(process.argv.slice(2))}\n`);
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exitCode = 1;
}
