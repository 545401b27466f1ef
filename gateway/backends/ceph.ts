import * as z from 'zod';
import { accessModes } from '../../src/api/storage.ts';
import { unavailableProblem } from '../../src/api/problem.ts';
import type { Backend, BackendPlugin, OwnerMark } from '../backend.ts';
import { absoluteDirectory, byteCount } from '../local/settings-schemas.ts';
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

/** A word that is safe in commands and in a user's capabilities without quoting. */
const word = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9_.-]*$/,
    'use letters, digits, ., _ and - only, and begin with a letter or a digit',
  );

const settings = z
  .strictObject({
    conf: absoluteDirectory.default('/etc/ceph/ceph.conf').describe("the cluster's configuration file"),
    user: word.default('fairlead').describe('the user of CephX, without "client."'),
    keyring: absoluteDirectory
      .optional()
      .describe("the file with the user's key; default: /etc/ceph/ceph.client.USER.keyring"),
    pool: word.optional().describe('the pool of the images, initialized for RBD (rbd pool init)'),
    filesystem: word
      .optional()
      .describe('the CephFS that holds the volumes as directories, instead of a pool'),
    mode: z
      .enum(['legacy', 'crc', 'secure'])
      .default('legacy')
      .describe(
        'protocol between nodes and cluster: messenger 1 (legacy), or 2 (Linux 5.11 or later) without (crc) or with encryption (secure)',
      ),
    capacity: byteCount
      .optional()
      .describe('bytes that volumes and snapshots may reserve; default: the size of the pool or filesystem'),
  })
  .refine(
    ({ pool, filesystem }) => (pool === undefined) !== (filesystem === undefined),
    'set exactly one of "pool" and "filesystem"',
  );

type Settings = z.output<typeof settings>;

/**
 * Stores volumes as images (RBD) or directories (CephFS) of a Ceph cluster. Nodes use them with their kernel's
 * clients.
 */
export const ceph: BackendPlugin<typeof settings> = {
  settings,
  addressOf: ({ conf, pool, filesystem }) =>
    pool === undefined ? `filesystem "${filesystem}" of ${conf}` : `pool "${pool}" of ${conf}`,
  check: ({ pool, filesystem, mode, ...login }) => checkPool({ ...loginOf(login), pool, filesystem, mode }),
  readOwner({ pool = '', filesystem, ...login }) {
    const key = filesystem === undefined ? poolKeyOf(pool) : ownerKeyOf({ name: filesystem });
    return createOwnerMark(createCommands(loginOf(login)), key).read();
  },
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
    // No bound on addresses: the cluster itself names its monitors, and requires a key.
    attachmentBounds: { protocols: ['rbd'] as const },
    ...createVolumes(pool),
    ...createAttachments(pool, mode),
    snapshots: createSnapshots(pool),
    changes: createChanges(pool),
    dataPool: pool.name,
    ownerKey: poolKeyOf(pool.name),
  };
}

async function openShares(filesystem: Filesystem, mode: Mode) {
  return {
    accessModes,
    accessTypes: ['mount'] as const,
    areShares: true as const,
    attachmentBounds: { protocols: ['cephfs'] as const },
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

/** Reads the bytes that a pool holds and can still hold, each byte counted once for all replicas. */
async function readCapacity({ askCeph }: Commands, name: string): Promise<number> {
  const usage = await askCeph<Usage>('df');
  const stats = usage?.pools.find(one => one.name === name)?.stats;
  if (!stats) throw unavailableProblem(`the Ceph cluster reports no usage of pool "${name}"`);
  return stats.stored + stats.max_avail;
}

function poolKeyOf(pool: string): string {
  return `fairlead/${pool}/owner`;
}

/** Stores the owner mark among the monitors' configuration keys. */
function createOwnerMark({ ceph: run }: Commands, key: string): OwnerMark {
  return {
    async read() {
      const { status, stdout } = await run(['config-key', 'get', key], { fine: [missing] });
      return status === 0 ? `${stdout.trim()}\n` : undefined;
    },
    write: async mark => void (await run(['config-key', 'set', key, mark.trim()])),
  };
}
