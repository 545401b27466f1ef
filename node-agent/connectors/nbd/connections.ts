import { isIP, SocketAddress } from 'node:net';
import { endianness } from 'node:os';
import type { Host } from '../../host.ts';

/** One end of a connection: an address in its shortest form. */
export type Peer = { readonly address: string; readonly port: number };

/** A TCP connection that is established. */
export type Connection = {
  readonly local: Peer;
  /** The other machine's end. */
  readonly peer: Peer;
  /** The number of the user whose it is. */
  readonly owner: number;
};

/** The other ends of all TCP connections that are established. */
export async function readPeers(host: Host): Promise<readonly Peer[]> {
  return (await readConnections(host)).map(({ peer }) => peer);
}

/** All TCP connections that are established (proc(5): state 01 in the fourth column, the user in the eighth). */
export async function readConnections(host: Host): Promise<readonly Connection[]> {
  const texts = await Promise.all(['tcp', 'tcp6'].map(name => host.readText(`/proc/net/${name}`)));
  const lines = texts.flatMap(text => (text ?? '').split('\n').map(line => line.trim().split(/\s+/)));
  return lines.flatMap(([, local, remote, state, , , , owner]) =>
    state === '01' ? [{ local: toPeer(local), peer: toPeer(remote), owner: Number(owner) }] : [],
  );
}

function toPeer(text = ''): Peer {
  const [address = '', port = ''] = text.split(':');
  return { address: decode(address), port: Number.parseInt(port, 16) };
}

/** An address in its shortest form; undefined for a host's name. */
export function addressOf(server: string): string | undefined {
  const version = isIP(server);
  if (version === 0) return undefined;
  return new SocketAddress({ address: server, family: version === 6 ? 'ipv6' : 'ipv4' }).address;
}

/** The kernel shows an address as numbers of 32 bits, in the machine's own order of bytes. */
function decode(text: string): string {
  const bytes = Buffer.from(text, 'hex');
  if (endianness() === 'LE') bytes.swap32();
  if (bytes.length === 4) return bytes.join('.');
  const groups = Array.from({ length: 8 }, (_, index) => bytes.readUInt16BE(index * 2).toString(16));
  return addressOf(groups.join(':')) ?? '';
}
