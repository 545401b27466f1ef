import { isIPv6 } from 'node:net';
import { Problem, unavailableProblem } from '../../src/api/problem.ts';
import { waitFor } from './sysfs.ts';

/** A session with a target, or a controller of a subsystem; its address is one of the attachment's. */
export type Connection = { readonly address: string; readonly isUp: boolean };

/** How a server is connected to. */
type Connecting<C extends Connection> = {
  readonly addresses: readonly string[];
  /** The connections that there are, over whatever address and whoever made them. */
  readonly read: () => Promise<readonly C[]>;
  readonly connect: (address: string) => Promise<void>;
  /** What one is, in words. */
  readonly what: string;
};

/** Connects each address without a connection, once, and returns those that are up; if none, throws, UNAUTHENTICATED first. */
export async function connectMissing<C extends Connection>(connecting: Connecting<C>): Promise<readonly C[]> {
  const { addresses, read, connect, what } = connecting;
  const before = await read();
  const missing = addresses.filter(address => !before.some(known => known.address === address));
  const results = await Promise.allSettled(missing.map(connect));
  const up = await waitFor(async () => {
    const own = (await read()).filter(({ address }) => addresses.includes(address));
    const found = own.filter(({ isUp }) => isUp);
    return found.length > 0 || own.length === 0 ? found : undefined;
  });
  if (up && up.length > 0) return up;
  const faults = results.flatMap(result => (result.status === 'rejected' ? [result.reason as unknown] : []));
  // A server that refuses the node says more than one that does not answer.
  const refusal = faults.find(fault => fault instanceof Problem && fault.code === 'UNAUTHENTICATED');
  throw refusal ?? faults[0] ?? unavailableProblem(`no ${what} is up yet`);
}

/** An IP address and a port as attachments spell them. */
export function withPort(ip: string, port: string | undefined): string {
  return `${isIPv6(ip) ? `[${ip}]` : ip}:${port}`;
}
