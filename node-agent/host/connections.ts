import { isIPv6 } from 'node:net';
import { canonicalAddress } from '../../src/api/attachments/addresses.ts';
import { Problem, unavailableProblem } from '../../src/api/problem.ts';
import { waitFor } from './sysfs.ts';

/** A session with a target, or a controller of a subsystem; its address is in canonical form. */
export type Connection = { readonly address: string; readonly isUp: boolean };

type Server<C extends Connection> = {
  readonly addresses: readonly string[];
  /** Lists all existing connections, including those to other addresses or made by other programs. */
  readonly read: () => Promise<readonly C[]>;
  readonly connect: (address: string) => Promise<void>;
  /** The noun for one connection, for messages. */
  readonly what: string;
};

/**
 * Connects once to each address without a connection and returns the connections that are up. If none is up, throws
 * UNAUTHENTICATED if an address was refused so, otherwise the first failure.
 */
export async function connectMissing<C extends Connection>(server: Server<C>): Promise<readonly C[]> {
  const { addresses, read, connect, what } = server;
  const wanted = new Set(addresses.map(canonicalAddress));
  const before = new Set((await read()).map(({ address }) => address));
  const missing = addresses.filter(address => !before.has(canonicalAddress(address)));
  const results = await Promise.allSettled(missing.map(connect));
  const up = await waitFor(async () => {
    const own = (await read()).filter(({ address }) => wanted.has(address));
    const found = own.filter(({ isUp }) => isUp);
    return found.length > 0 || own.length === 0 ? found : undefined;
  });
  if (up && up.length > 0) return up;
  const faults = results.flatMap(result => (result.status === 'rejected' ? [result.reason as unknown] : []));
  // A refusal of the node tells more than a missing answer.
  const refusal = faults.find(fault => fault instanceof Problem && fault.code === 'UNAUTHENTICATED');
  throw refusal ?? faults[0] ?? unavailableProblem(`no ${what} is up yet; try again`);
}

/** Joins an IP address and a port in the form that attachments use. */
export function withPort(ip: string, port: string): string {
  return `${isIPv6(ip) ? `[${ip}]` : ip}:${port}`;
}
