import { isIP, SocketAddress } from 'node:net';
import { endianness } from 'node:os';
import type { AttachmentOf } from '../../../src/api/attachment.ts';
import type { Host } from '../../host.ts';

/** One end of a connection: an address in its shortest form. */
export type Peer = { readonly address: string; readonly port: number };

/** The other ends of all TCP connections that are established (proc(5): state 01 in the fourth column). */
export async function readPeers(host: Host): Promise<readonly Peer[]> {
  const texts = await Promise.all(['tcp', 'tcp6'].map(name => host.readText(`/proc/net/${name}`)));
  const ends = texts.join('\n').matchAll(/^ *\d+: \S+ ([0-9A-F]+):([0-9A-F]{4}) 01 /gm);
  return Array.from(ends, ([, address = '', port = '']) => ({
    address: decode(address),
    port: Number.parseInt(port, 16),
  }));
}

/** True when a peer is the server of an attachment; of a host's name its port alone is compared. */
export function isServer(peer: Peer, { server, port }: AttachmentOf<'nbd'>): boolean {
  const address = addressOf(server);
  return peer.port === port && (address === undefined || peer.address === address);
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
