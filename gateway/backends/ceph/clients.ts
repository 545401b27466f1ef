import { unavailableProblem } from '../../../src/api/problem.ts';
import { poll } from '../../../src/lib/concurrency.ts';
import { missing } from './commands.ts';
import type { Image, RbdPool } from './pool.ts';

/** Longer than the lifetime of a CephX ticket, because the cluster does not revoke tickets. */
export const blocklistSeconds = 24 * 3_600;
/** The polling of clients that are being shut out, in ms. */
export const evictionPoll = { everyMs: 250, timeoutMs: 30_000 };

type Locker = { readonly id: string; readonly locker: string; readonly address: string };

/** Reads the clients that have an image open, and its locks. A client keeps its address for its life. */
export async function readClients(pool: RbdPool, image: Image) {
  const spec = pool.specOf(image);
  type Status = { readonly watchers?: readonly { readonly address: string }[] };
  const { watchers = [] } = (await pool.askRbd<Status>('status', spec)) ?? {};
  const lockers = (await pool.askRbd<readonly Locker[]>('lock', 'ls', spec)) ?? [];
  return { watchers, lockers, addresses: new Set([...watchers, ...lockers].map(({ address }) => address)) };
}

/**
 * Records the clients that have an image open, before a command takes its lock for a moment. Afterwards a client that
 * was paused meanwhile neither watches nor locks the image, but `shutOut` still finds its record. Each client has a
 * record of its own, so that two concurrent writers lose none.
 */
export async function rememberClients(pool: RbdPool, image: Image): Promise<void> {
  const { addresses } = await readClients(pool, image);
  for (const address of addresses)
    await pool.notesOf(image.namespace).write(prefixOf(image) + address, 'open');
}

async function readRemembered(pool: RbdPool, image: Image): Promise<ReadonlySet<string>> {
  const prefix = prefixOf(image);
  const keys = [...(await pool.notesOf(image.namespace).read()).keys()];
  return new Set(keys.filter(key => key.startsWith(prefix)).map(key => key.slice(prefix.length)));
}

/** The prefix of the keys of an image's client records. The slash ends the name, since no image's name contains one. */
function prefixOf({ name }: Image): string {
  return `clients.${name}/`;
}

/**
 * Shuts out every client that has an image open, or had it open and may not know that it no longer has. Returns once
 * no client watches or locks the image; the OSDs that serve the next client know the blocklist by then. UNAVAILABLE
 * with the addresses that are left.
 */
export async function shutOut(pool: RbdPool, image: Image): Promise<void> {
  const shut = new Set<string>();
  const remembered = await readRemembered(pool, image);
  let left = remembered;
  const checkClients = async (): Promise<true | undefined> => {
    const { addresses, lockers } = await readClients(pool, image);
    for (const address of left.union(addresses).difference(shut)) {
      await pool.ceph(['osd', 'blocklist', 'add', address, String(blocklistSeconds)]);
      shut.add(address);
    }
    for (const { id, locker } of lockers)
      await pool.rbd(['lock', 'rm', pool.specOf(image), id, locker], { fine: [missing] });
    left = addresses;
    return left.size === 0 || undefined;
  };
  if (!(await poll(checkClients, evictionPoll)))
    throw unavailableProblem(`image "${pool.specOf(image)}" is still open at ${[...left].join(', ')}`);
  await forget(pool, image, remembered);
}

/** Drops the records of an image's clients, once none of them can reach it. */
export async function forgetClients(pool: RbdPool, image: Image): Promise<void> {
  await forget(pool, image, await readRemembered(pool, image));
}

async function forget(pool: RbdPool, image: Image, addresses: ReadonlySet<string>): Promise<void> {
  const notes = pool.notesOf(image.namespace);
  for (const address of addresses) await notes.drop(prefixOf(image) + address);
}
