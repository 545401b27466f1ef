import { unavailableProblem } from '../../../src/api/problem.ts';
import { poll } from '../../../src/lib/concurrency.ts';
import { missing } from './commands.ts';
import type { Image, RbdPool } from './pool.ts';

/** Longer than a ticket of CephX is good, which the cluster does not ask for back. */
export const blocklistSeconds = 24 * 3_600;
/** How long a client may take to go. */
export const gone = { everyMs: 250, timeoutMs: 30_000 };

type Locker = { readonly id: string; readonly locker: string; readonly address: string };

/** Who has an image open, by the address that a client has for its life, and its locks. */
export async function readClients(pool: RbdPool, image: Image) {
  const spec = pool.specOf(image);
  type Status = { readonly watchers?: readonly { readonly address: string }[] };
  const { watchers = [] } = (await pool.askRbd<Status>('status', spec)) ?? {};
  const lockers = (await pool.askRbd<readonly Locker[]>('lock', 'ls', spec)) ?? [];
  return { watchers, lockers, addresses: new Set([...watchers, ...lockers].map(({ address }) => address)) };
}

/**
 * Notes who has an image open, before something is done that takes its lock for a moment: a client that stood still since then,
 * and neither watches nor locks the image any more, is shut out all the same.
 */
export async function rememberClients(pool: RbdPool, image: Image): Promise<void> {
  const { addresses } = await readClients(pool, image);
  if (addresses.size === 0) return;
  const { namespace } = image;
  const known = await readRemembered(pool, image);
  const text = [...known.union(addresses)].join(' ');
  await pool.writeNote({ namespace, key: keyOf(image), text });
}

async function readRemembered(pool: RbdPool, image: Image): Promise<ReadonlySet<string>> {
  const text = (await pool.readNotes(image.namespace)).get(keyOf(image));
  return new Set(text?.split(' '));
}

function keyOf({ name }: Image): string {
  return `clients.${name}`;
}

/**
 * Shuts out whoever has an image open, or had and may not know that it is over. Returns once nobody watches or locks it: an OSD that
 * serves the next client knows of it by then. UNAVAILABLE names who is left.
 */
export async function shutOut(pool: RbdPool, image: Image): Promise<void> {
  const shut = new Set<string>();
  const remembered = await readRemembered(pool, image);
  let left = remembered;
  const look = async (): Promise<true | undefined> => {
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
  if (!(await poll(look, gone)))
    throw unavailableProblem(`image "${pool.specOf(image)}" is still open at ${[...left].join(', ')}`);
  if (remembered.size > 0) await forgetClients(pool, image);
}

/** Drops what was noted of an image's clients, once none of them can reach it. */
export async function forgetClients(pool: RbdPool, image: Image): Promise<void> {
  await pool.dropNote({ namespace: image.namespace, key: keyOf(image) });
}
