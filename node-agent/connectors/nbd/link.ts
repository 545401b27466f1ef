import { lookup } from 'node:dns/promises';
import { createMachine } from '../../host/linux.ts';
import { openExport } from './handshake.ts';
import { connectDevice, disconnectDevice, reconnectDevice } from './kernel.ts';
import { connectTcp } from './libc.ts';

// A program of its own, since its calls block: link.ts size|connect|reconnect|disconnect, and what each needs. It
// opens an export, hands the connection to the kernel, and ends; the kernel has it from then on. Its answer is a number.

/** How long the server may take for each step of the negotiation. */
const answerSeconds = 10;
const flagReadonly = 2;

async function main(
  operation: string,
  [server, port, name, identifier = '', mode, device]: readonly string[],
): Promise<bigint | number> {
  const { socket, found } = await open(server ?? '', Number(port), name ?? '');
  if (operation === 'size') return found.sizeBytes;
  const index = device === undefined ? undefined : Number(device);
  if (operation === 'connect') {
    const flags = mode === 'ro' ? found.flags | flagReadonly : found.flags;
    return connectDevice(socket, { ...found, flags }, { index, identifier });
  }
  const sectors = await createMachine({ timeoutMs: 0 }).readText(`/sys/block/nbd${index}/size`);
  const sizeBytes = Number(sectors ?? 0) * 512;
  if (found.sizeBytes < sizeBytes)
    throw new Error(`the server has ${found.sizeBytes} bytes, and the device ${sizeBytes}`);
  reconnectDevice(socket, { index, identifier });
  return Number(index);
}

async function open(server: string, port: number, name: string) {
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
  const [, , operation = '', ...rest] = process.argv;
  if (operation === 'disconnect') disconnectDevice(Number(rest[0]));
  else process.stdout.write(`${await main(operation, rest)}\n`);
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exitCode = 1;
}
