import { lookup } from 'node:dns/promises';
import { createMachine } from '../../host/linux.ts';
import { openExport, type Export } from './handshake.ts';
import { connectDevice, disconnectDevice, reconnectDevice } from './kernel.ts';
import { connectTcp, type Socket } from './libc.ts';

// A program of its own, since its calls block: link.ts size|connect|reconnect|disconnect, and what each needs. It
// opens an export, hands the connection to the kernel, and ends; the kernel keeps it from then on. What it finds out goes
// to standard output as a number.

/** How long the server may take for each step of the negotiation. */
const answerSeconds = 10;
const flagReadonly = 2;

type Opened = { readonly socket: Socket; readonly found: Export };

async function main([operation, ...rest]: readonly string[]): Promise<string> {
  const [first = '', second = '', third = '', identifier = '', mode, fifth] = rest;
  if (operation === 'disconnect') {
    disconnectDevice(Number(first));
    return '';
  }
  const index = fifth === undefined ? undefined : Number(fifth);
  const { socket, found } = await open(first, Number(second), third);
  if (operation === 'size') return String(found.sizeBytes);
  if (operation === 'connect') {
    const flags = mode === 'ro' ? found.flags | flagReadonly : found.flags;
    return String(connectDevice(socket, { ...found, flags }, { index, identifier }));
  }
  if (index === undefined) throw new Error('no index');
  const sectors = await createMachine({ timeoutMs: 0 }).readText(`/sys/block/nbd${index}/size`);
  const sizeBytes = Number(sectors ?? 0) * 512;
  if (found.sizeBytes < sizeBytes)
    throw new Error(`the server has ${found.sizeBytes} bytes, and the device ${sizeBytes}`);
  reconnectDevice(socket, { index, identifier });
  return String(index);
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
