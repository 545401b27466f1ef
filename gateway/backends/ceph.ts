import { z } from 'zod';
import { accessModes } from '../../src/api/storage.ts';
import { unavailableProblem } from '../../src/api/problem.ts';
import type { Backend, BackendPlugin, OwnerMark } from '../backend.ts';
import { absoluteDirectory, byteCount } from '../configuration/schemas.ts';
import { createAttachments, readMonitors, type Mode } from './ceph/attachments.ts';
import { createChanges } from './ceph/changes.ts';
import { checkPool } from './ceph/check.ts';
import { createCommands, missing, type Commands, type Login } from './ceph/commands.ts';
import { openPool, type RbdPool } from './ceph/pool.ts';
import { createShareAttachments } from './ceph/shares/attachments.ts';
import { openFilesystem, readDataPool, type Filesystem } from './ceph/shares/filesystem.ts';
import { ownerKeyOf } from './ceph/shares/notes.ts';
import { createShareSnapshots } from './ceph/shares/snapshots.ts';
import { createShareVolumes } from './ceph/shares/volumes.ts';
import { createSnapshots } from './ceph/snapshots.ts';
import { createVolumes } from './ceph/volumes.ts';

/** What stands in a command and in a user's rights as it is. */
const word = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9_.-]*$/, 'holds something else than letters, digits, ., _ and -');

const settings = z
  .strictObject({
    conf: absoluteDirectory.default('/etc/ceph/ceph.conf').describe("the cluster's configuration file"),
    user: word.default('fairlead').describe('the user of CephX, without "client."'),
    keyring: absoluteDirectory
      .optional()
      .describe("the file with the user's key; else ceph.client.USER.keyring in /etc/ceph"),
    pool: word.optional().describe('the pool of the images, initialized for RBD (rbd pool init)'),
    filesystem: word.optional().describe('instead of a pool: the CephFS whose directories are the volumes'),
    mode: z
      .enum(['legacy', 'crc', 'secure'])
      .default('legacy')
      .describe(
        'how nodes speak with the cluster: messenger 1, or 2 (Linux 5.11 or later) without or with encryption',
      ),
    capacity: byteCount
      .optional()
      .describe('bytes that volumes and snapshots may reserve; else what the pool or filesystem has'),
  })
  .refine(
    ({ pool, filesystem }) => (pool === undefined) !== (filesystem === undefined),
    'there must be either "pool" or "filesystem"',
  );

type Settings = z.output<typeof settings>;

/** Volumes as images (RBD) or directories (CephFS) of a Ceph cluster, which nodes reach by their kernels. */
export const ceph: BackendPlugin<typeof settings> = {
  settings,
  check: ({ pool, filesystem, mode, ...login }) => checkPool({ ...loginOf(login), pool, filesystem, mode }),
  open,
};

async function open({ pool, filesystem, mode, capacity, ...login }: Settings): Promise<Backend> {
  const commands = createCommands(loginOf(login));
  await readMonitors(commands, mode);
  const own =
    filesystem === undefined
      ? openImages(openPool(pool ?? '', commands), mode)
      : await openShares(openFilesystem(filesystem, commands), mode);
  const { dataPool, ownerKey, ...backend } = own;
  return {
    name: 'ceph',
    parameters: z.strictObject({}),
    sizes: { minimumBytes: 2 ** 20, stepBytes: 2 ** 20, defaultBytes: 2 ** 30 },
    sources: ['snapshot', 'volume'],
    ...backend,
    capacity: async () => ({ totalBytes: capacity ?? (await readCapacity(commands, dataPool)) }),
    owner: createOwnerMark(commands, ownerKey),
  };
}

function openImages(pool: RbdPool, mode: Mode) {
  return {
    accessModes: accessModes.filter(one => one.startsWith('SINGLE_NODE')),
    accessTypes: ['mount', 'block'] as const,
    ...createVolumes(pool),
    ...createAttachments(pool, mode),
    snapshots: createSnapshots(pool),
    changes: createChanges(pool),
    dataPool: pool.name,
    ownerKey: `fairlead/${pool.name}/owner`,
  };
}

async function openShares(filesystem: Filesystem, mode: Mode) {
  return {
    accessModes,
    accessTypes: ['mount'] as const,
    areShares: true as const,
    ...createShareVolumes(filesystem),
    ...createShareAttachments(filesystem, mode),
    snapshots: createShareSnapshots(filesystem),
    dataPool: await readDataPool(filesystem, filesystem.name),
    ownerKey: ownerKeyOf(filesystem),
  };
}

function loginOf({ conf, user, keyring }: Pick<Settings, 'conf' | 'user' | 'keyring'>): Login {
  return { conf, user, keyring: keyring ?? `/etc/ceph/ceph.client.${user}.keyring` };
}

type Usage = {
  readonly pools: readonly {
    readonly name: string;
    readonly stats: { readonly stored: number; readonly max_avail: number };
  }[];
};

/** What the pool holds and may still hold, counted once for all copies of it. */
async function readCapacity({ askCeph }: Commands, name: string): Promise<number> {
  const usage = await askCeph<Usage>('df');
  const stats = usage?.pools.find(one => one.name === name)?.stats;
  if (!stats) throw unavailableProblem(`the cluster does not tell what pool "${name}" has`);
  return stats.stored + stats.max_avail;
}

/** Beside the monitors' own settings. */
function createOwnerMark({ ceph: run }: Commands, key: string): OwnerMark {
  return {
    async read() {
      const { status, stdout } = await run(['config-key', 'get', key], { fine: [missing] });
      return status === 0 ? `${stdout.trim()}\n` : undefined;
    },
    write: async mark => void (await run(['config-key', 'set', key, mark.trim()])),
  };
}
