import { isIP, SocketAddress } from 'node:net';
import { endianness } from 'node:os';
import type { AttachmentOf } from '../../../src/api/attachment.ts';
import type { Host } from '../../host.ts';
import { identityOf, readDevices, runLink } from './exports.ts';

type NbdAttachment = AttachmentOf<'nbd'>;

/** How many volumes are connected anew at a time: each takes a process of its own. */
const mostAtOnce = 4;
/** In one of so many rounds what is reached by a host's name is connected anew whatever is seen of it. */
const roundsBetween = 30;

/**
 * Makes what brings lost connections back; the first failure is thrown once all were tried. The kernel shows a lost one by
 * having fewer connections than devices, which others' to a named host would hide: those are connected anew now and then.
 */
export function createRepair(): (attachments: readonly NbdAttachment[], host: Host) => Promise<void> {
  let round = 0;
  return async (attachments, host) => {
    const devices = await readDevices(host);
    const nameOf = (attachment: NbdAttachment) => devices.get(identityOf(attachment)) ?? [];
    const connected = attachments.filter(attachment => nameOf(attachment).length === 1);
    if (connected.length === 0) return;
    round = (round + 1) % roundsBetween;
    const seen = { connected, peers: await readPeers(host), isTurn: round === 0 };
    const doubtful = connected.values().filter(attachment => mayBeLost(attachment, seen));
    const failures: unknown[] = [];
    const reconnectNext = async (): Promise<void> => {
      for (const attachment of doubtful) {
        const [name = ''] = nameOf(attachment);
        await runLink('reconnect', { attachment, host, name }).catch(error => failures.push(error));
      }
    };
    await Promise.all(Array.from({ length: mostAtOnce }, reconnectNext));
    if (failures.length > 0) throw failures[0];
  };
}

type Seen = {
  readonly connected: readonly NbdAttachment[];
  readonly peers: readonly Peer[];
  readonly isTurn: boolean;
};

/** True when one of the connections to the same server, or the same port, is lost, or may be where it is its turn. */
function mayBeLost(attachment: NbdAttachment, { connected, peers, isTurn }: Seen): boolean {
  const onPort = connected.filter(({ port }) => port === attachment.port);
  if (peers.filter(({ port }) => port === attachment.port).length < onPort.length) return true;
  const address = addressOf(attachment.server);
  if (address === undefined) return isTurn;
  const own = onPort.filter(({ server }) => addressOf(server) === address);
  return peers.filter(peer => isServer(peer, attachment)).length < own.length;
}

/** True when the kernel has a connection to an attachment's server, be it for another export. */
export async function hasConnection(attachment: NbdAttachment, host: Host): Promise<boolean> {
  return (await readPeers(host)).some(peer => isServer(peer, attachment));
}

/** One end of a connection: an address in its shortest form. */
type Peer = { readonly address: string; readonly port: number };

/** The other ends of all TCP connections that are established (proc(5): state 01 in the fourth column). */
async function readPeers(host: Host): Promise<readonly Peer[]> {
  const texts = await Promise.all(['tcp', 'tcp6'].map(name => host.readText(`/proc/net/${name}`)));
  const ends = texts.join('\n').matchAll(/^ *\d+: \S+ ([0-9A-F]+):([0-9A-F]{4}) 01 /gm);
  return Array.from(ends, ([, address = '', port = '']) => ({
    address: decode(address),
    port: Number.parseInt(port, 16),
  }));
}

/** True when a peer is the server of an attachment; of a host's name its port alone is compared. */
function isServer(peer: Peer, { server, port }: NbdAttachment): boolean {
  const address = addressOf(server);
  return peer.port === port && (address === undefined || peer.address === address);
}

/** An address in its shortest form; undefined for a host's name. */
function addressOf(server: string): string | undefined {
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
