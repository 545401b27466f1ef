import type { OwnerMark } from '../../backend.ts';
import { keyDeviceBytes, readDeviceKey } from '../../local/pool-key.ts';
import { parseRows, runReport, type PoolName } from './commands.ts';
import { keyNameOf, keyTag, ownerTag, valueOf } from './names.ts';
import type { LvmPool, ThinVolume } from './pool.ts';

/**
 * Reads the pool's secret from the first bytes of a thin volume of its own, which is active only meanwhile. Creates it
 * if it is missing.
 */
export async function readKey(pool: LvmPool): Promise<Uint8Array> {
  const { name } = await requireKeyVolume(pool);
  const operand = pool.operandOf(name);
  const activate = (on: 'y' | 'n'): Promise<void> =>
    pool.change(
      ['lvchange', '--activate', on, '--ignoreactivationskip', '--', operand],
      `activate "${operand}"`,
    );
  await activate('y');
  try {
    return await readDeviceKey(pool.pathOf(name));
  } finally {
    await activate('n');
  }
}

/** Creates the volume of the key unless it exists. Throws when somebody else has its name. */
async function requireKeyVolume(pool: LvmPool): Promise<ThinVolume> {
  const { thin, volumes } = await pool.report();
  const keyName = keyNameOf(pool.thinPool);
  const found = volumes.find(one => one.name === keyName);
  if (found?.tags.includes(keyTag)) return found;
  const operand = pool.operandOf(keyName);
  if (found) throw new Error(`"${operand}" has no tag ${keyTag} and is not of a gateway; rename it`);
  const options = ['--yes', '--type', 'thin', '--thinpool', pool.thinPool, '--wipesignatures', 'n'];
  const own = ['--name', keyName, '--addtag', keyTag, '--setactivationskip', 'y'];
  const size = ['--virtualsize', `${Math.max(thin.extentBytes, keyDeviceBytes)}b`];
  await pool.change(['lvcreate', ...options, ...own, ...size, '--', pool.group], `create "${operand}"`);
  return requireKeyVolume(pool);
}

/** The owner mark of a pool, in a tag of the volume with its key. */
export function createOwnerMark(pool: LvmPool): OwnerMark {
  return {
    read: () => readOwner(pool),
    async write(mark) {
      const { name, tags } = await requireKeyVolume(pool);
      const old = tags.flatMap(tag => (tag.startsWith(ownerTag) ? ['--deltag', tag] : []));
      const tag = ownerTag + Buffer.from(mark).toString('base64url');
      const operand = pool.operandOf(name);
      await pool.change(['lvchange', ...old, '--addtag', tag, '--', operand], `mark "${operand}"`);
    },
  };
}

/** Reads the owner mark of a pool, open or not; undefined without one. */
export async function readOwner(poolName: PoolName): Promise<string | undefined> {
  const rows = parseRows(poolName.group, await runReport(poolName));
  const found = rows.find(
    row => row.lv_name === keyNameOf(poolName.thinPool) && row.pool_lv === poolName.thinPool,
  );
  const mark = valueOf(found?.lv_tags.split(',') ?? [], ownerTag);
  return mark === undefined ? undefined : Buffer.from(mark, 'base64url').toString();
}
