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
 * and neither watches nor locks the image any more, is shut out all the same. Each has a note of its own, so that two who write
 * at the same time lose none.
 */
export async function rememberClients(pool: RbdPool, image: Image): Promise<void> {
  const { addresses } = await readClients(pool, image);
  for (const address of addresses)
    await pool.writeNote({ namespace: image.namespace, key: prefixOf(image) + address, text: 'open' });
}

async function readRemembered(pool: RbdPool, image: Image): Promise<ReadonlySet<string>> {
  const prefix = prefixOf(image);
  const keys = [...(await pool.readNotes(image.namespace)).keys()];
  return new Set(keys.filter(key => key.startsWith(prefix)).map(key => key.slice(prefix.length)));
}

/** No image has a name with a slash in it. */
function prefixOf({ name }: Image): string {
  return `clients.${name}/`;
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
  await forget(pool, image, remembered);
}

/** Drops what was noted of an image's clients, once none of them can reach it. */
export async function forgetClients(pool: RbdPool, image: Image): Promise<void> {
  await forget(pool, image, await readRemembered(pool, image));
}

async function forget(pool: RbdPool, image: Image, addresses: ReadonlySet<string>): Promise<void> {
  const { namespace } = image;
  for (const address of addresses) await pool.dropNote({ namespace, key: prefixOf(image) + address });
}
