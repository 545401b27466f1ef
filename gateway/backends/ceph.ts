import { z } from 'zod';
import { accessModes } from '../../src/api/storage.ts';
import { unavailableProblem } from '../../src/api/problem.ts';
import type { Backend, BackendPlugin, OwnerMark } from '../backend.ts';
import { absoluteDirectory, byteCount } from '../configuration/schemas.ts';
import { createAttachments, readMonitors } from './ceph/attachments.ts';
import { createChanges } from './ceph/changes.ts';
import { createCommands, missing } from './ceph/commands.ts';
import { openPool, type RbdPool } from './ceph/pool.ts';
import { createSnapshots } from './ceph/snapshots.ts';
import { createVolumes } from './ceph/volumes.ts';

/** What stands in a command and in a user's rights as it is. */
const word = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9_.-]*$/, 'holds something else than letters, digits, ., _ and -');

const settings = z.strictObject({
  conf: absoluteDirectory.default('/etc/ceph/ceph.conf').describe("the cluster's configuration file"),
  user: word.default('fairlead').describe('the user of CephX, without "client."'),
  keyring: absoluteDirectory
    .optional()
    .describe("the file with the user's key; else ceph.client.USER.keyring in /etc/ceph"),
  pool: word.describe('the pool of the images, which RBD was told of (rbd pool init)'),
  mode: z
    .enum(['legacy', 'crc', 'secure'])
    .default('legacy')
    .describe(
      'how nodes speak with the cluster: messenger 1, or 2 (Linux 5.11 or later) without or with encryption',
    ),
  capacity: byteCount
    .optional()
    .describe('bytes that volumes and snapshots may reserve; else what the pool has'),
});

type Settings = z.output<typeof settings>;

/** Volumes as images of a Ceph cluster (RBD), which nodes map by their kernels. */
export const ceph: BackendPlugin<typeof settings> = { settings, open };

async function open({ conf, user, keyring, pool: name, mode, capacity }: Settings): Promise<Backend> {
  const file = keyring ?? `/etc/ceph/ceph.client.${user}.keyring`;
  const pool = openPool(name, createCommands({ conf, user, keyring: file }));
  await readMonitors(pool, mode);
  return {
    name: 'ceph',
    accessModes: accessModes.filter(one => one.startsWith('SINGLE_NODE')),
    accessTypes: ['mount', 'block'],
    parameters: z.strictObject({}),
    sizes: { minimumBytes: 2 ** 20, stepBytes: 2 ** 20, defaultBytes: 2 ** 30 },
    sources: ['snapshot', 'volume'],
    ...createVolumes(pool),
    ...createAttachments(pool, mode),
    snapshots: createSnapshots(pool),
    changes: createChanges(pool),
    capacity: async () => ({ totalBytes: capacity ?? (await readCapacity(pool)) }),
    owner: createOwnerMark(pool),
  };
}

type Usage = {
  readonly pools: readonly {
    readonly name: string;
    readonly stats: { readonly stored: number; readonly max_avail: number };
  }[];
};

/** What the pool holds and may still hold, counted once for all copies of it. */
async function readCapacity({ name, askCeph }: RbdPool): Promise<number> {
  const usage = await askCeph<Usage>('df');
  const stats = usage?.pools.find(one => one.name === name)?.stats;
  if (!stats) throw unavailableProblem(`the cluster does not tell what pool "${name}" has`);
  return stats.stored + stats.max_avail;
}

/** Beside the monitors' own settings. */
function createOwnerMark({ name, ceph: run }: RbdPool): OwnerMark {
  const key = `fairlead/${name}/owner`;
  return {
    async read() {
      const { status, stdout } = await run(['config-key', 'get', key], { fine: [missing] });
      return status === 0 ? `${stdout.trim()}\n` : undefined;
    },
    write: async mark => void (await run(['config-key', 'set', key, mark.trim()])),
  };
}
