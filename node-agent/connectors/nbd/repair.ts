import type { AttachmentOf } from '../../../src/api/attachment.ts';
import type { Host } from '../../host.ts';
import { addressOf, readPeers, type Peer } from './peers.ts';
import { identityOf, indexOf, readDevices, runLink } from './exports.ts';

type NbdAttachment = AttachmentOf<'nbd'>;
type Connected = { readonly attachment: NbdAttachment; readonly name: string };

/** How many volumes are connected anew at a time: each takes a process of its own. */
const mostAtOnce = 4;
/** In one of so many rounds what is reached by a host's name is connected anew whatever is seen of it. */
const roundsBetween = 30;

/**
 * What brings lost connections back, once for each call. The kernel tells nobody that one is lost; it then has fewer
 * of them than devices. Others' connections to the same port of a named host cannot be told apart and would hide that,
 * so that those are connected anew now and then: a kernel that has lost nothing takes no new connection.
 */
export function createRepair(): (attachments: readonly NbdAttachment[], host: Host) => Promise<void> {
  let round = 0;
  return async (attachments, host) => {
    const devices = await readDevices(host);
    const connected = attachments.flatMap(attachment => {
      const [name, ...others] = devices.get(identityOf(attachment)) ?? [];
      return name === undefined || others.length > 0 ? [] : [{ attachment, name }];
    });
    if (connected.length === 0) return;
    round = (round + 1) % roundsBetween;
    const doubtful = findDoubtful(connected, { peers: await readPeers(host), isTurn: round === 0 });
    await forEach(doubtful, ({ attachment, name }) => runLink('reconnect', attachment, host, indexOf(name)));
  };
}

type Seen = { readonly peers: readonly Peer[]; readonly isTurn: boolean };

/** Those of which at least one has lost its connection, or may have where it is the turn of these. */
function findDoubtful(connected: readonly Connected[], { peers, isTurn }: Seen): readonly Connected[] {
  const hasLost = ({ server, port }: NbdAttachment): boolean => {
    const onPort = connected.filter(({ attachment }) => attachment.port === port);
    const seen = peers.filter(peer => peer.port === port);
    if (seen.length < onPort.length) return true;
    const address = addressOf(server);
    if (address === undefined) return isTurn;
    const own = onPort.filter(({ attachment }) => addressOf(attachment.server) === address);
    return seen.filter(peer => peer.address === address).length < own.length;
  };
  return connected.filter(({ attachment }) => hasLost(attachment));
}

/** Does the work for all, a few at a time; the first failure is thrown once all were tried. */
async function forEach<T>(items: readonly T[], work: (item: T) => Promise<unknown>): Promise<void> {
  const rest = items.values();
  const failures: unknown[] = [];
  const takeNext = async (): Promise<void> => {
    for (const item of rest) await work(item).catch((error: unknown) => void failures.push(error));
  };
  await Promise.all(Array.from({ length: mostAtOnce }, takeNext));
  if (failures.length > 0) throw failures[0];
}
