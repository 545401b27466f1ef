import type { OwnerMark } from '../../backend.ts';
import { readDeviceKey } from '../../local/pool-key.ts';
import { parseRows, runReport } from './commands.ts';
import { keyName, ownerProperty } from './names.ts';
import { ownerIn, type ZfsPool } from './pool.ts';

/** The property of a pool without an owner. */
const none = 'none';

/**
 * Reads the pool's secret from the first bytes of a volume of its own. Creates it if it is missing. A property is no
 * place for a secret, because every user of the machine can read it.
 */
export async function readKey(pool: ZfsPool): Promise<Uint8Array> {
  await requireKeyVolume(pool);
  return readDeviceKey(await pool.requireDevice(pool.pathOf(keyName)));
}

/** Creates the volume of the key unless it exists. Throws when somebody else has its name. */
async function requireKeyVolume(pool: ZfsPool): Promise<void> {
  const { all, owner } = await pool.report();
  if (owner !== undefined) return;
  const path = pool.pathOf(keyName);
  if (all.some(one => one.path === path))
    throw new Error(`"${path}" has no property ${ownerProperty} and is not of a gateway; rename it`);
  const options = ['-s', '-V', '1M', '-o', 'volmode=dev', '-o', `${ownerProperty}=${none}`];
  await pool.change(['create', ...options, '--', path], `create "${path}"`);
}

/** The owner mark of a pool, in a property of the volume with its key. */
export function createOwnerMark(pool: ZfsPool): OwnerMark {
  return {
    read: () => readOwner(pool),
    async write(mark) {
      await requireKeyVolume(pool);
      const path = pool.pathOf(keyName);
      const value = Buffer.from(mark).toString('base64url');
      await pool.change(['set', `${ownerProperty}=${value}`, path], `mark "${path}"`);
    },
  };
}

/** Reads the owner mark of a pool, open or not; undefined without one. */
export async function readOwner({ dataset }: { readonly dataset: string }): Promise<string | undefined> {
  const owner = ownerIn(dataset, parseRows(dataset, await runReport(dataset)));
  return owner === undefined || owner === none ? undefined : Buffer.from(owner, 'base64url').toString();
}
