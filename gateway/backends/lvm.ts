import { constants, openSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { asProblem } from '../../src/api/problem.ts';
import { createDirectories } from '../../src/lib/directories.ts';
import { lockDirectory, lockFile } from '../../src/lib/linux/directory-lock.ts';
import { type Log, silentLog } from '../../src/lib/log.ts';
import type { Backend, BackendPlugin, KnownVolume } from '../backend.ts';
import type { Export, ExportPlugin, ExportSettings } from '../export.ts';
import { exportBounds, exportedAttachments } from '../local/exported-attachments.ts';
import { vacateTimeoutMs } from '../local/files.ts';
import { byteCount } from '../local/settings-schemas.ts';
import { createChanges } from './lvm/changes.ts';
import { findPoolFaults } from './lvm/check.ts';
import { createCommands, type PoolName } from './lvm/commands.ts';
import { createOwnerMark, readKey, readOwner } from './lvm/key.ts';
import { isFitGroup } from './lvm/names.ts';
import { openPool, type LvmPool } from './lvm/pool.ts';
import { createSnapshots } from './lvm/snapshots.ts';
import { activate, createVolumes, requireUsable } from './lvm/volumes.ts';

const lvmName = z
  .string()
  .regex(
    /^[A-Za-z0-9_+.][A-Za-z0-9_+.-]*$/,
    'use letters, digits, +, ., _ and - only, and do not begin with a dash',
  );

const settingsWith = (exports: z.ZodType<ExportSettings>) =>
  z.strictObject({
    group: lvmName.refine(isFitGroup, 'is too long: use at most 70 characters').describe('the volume group'),
    thinPool: lvmName.describe('the thin pool of the group; its other thin volumes are not touched'),
    capacity: byteCount
      .optional()
      .describe(
        'bytes that volumes and snapshots may reserve; default: the size of the thin pool, so a larger value reserves more than there is',
      ),
    export: exports.describe('the export of volumes to nodes; loop exports no block devices'),
  });

type Settings = z.output<ReturnType<typeof settingsWith>>;

const what = 'the thin pool';
const kind = 'device';
/** LVM's own locks are here as well. */
const locks = '/run/lock/fairlead-lvm';

/** Stores volumes as thin volumes of LVM on this machine, and attaches them through one of the exports. */
export function lvm(
  exports: ExportPlugin<z.ZodType<ExportSettings>>,
): BackendPlugin<ReturnType<typeof settingsWith>> {
  /** Lists the missing prerequisites of this machine. A check derives nothing from the key, so any key will do. */
  async function findFaults({ group, thinPool, export: chosen }: Settings): Promise<readonly string[]> {
    const context = {
      root: rootOf({ group }),
      kind,
      log: silentLog,
      poolKey: async () => new Uint8Array(32),
    } as const;
    const exported = await exports.open(chosen, context);
    const exportFaults = (await exported.check?.()) ?? [];
    return [...(await findPoolFaults({ group, thinPool })), ...exportFaults.map(fault => `export: ${fault}`)];
  }

  return {
    settings: settingsWith(exports.settings),
    addressOf: ({ group, thinPool }) => `${group}/${thinPool}`,
    check: findFaults,
    readOwner,
    expectedBounds: ({ export: chosen }) => exportBounds({ ...chosen, protocol: exports.protocolOf(chosen) }),
    async open(settings, { log }) {
      const faults = await findFaults(settings);
      if (faults.length > 0) throw new Error(faults.join('; '));
      const { group, export: chosen } = settings;
      const { lockPath, release } = await lockPool(settings, log);
      try {
        const pool = openPool(settings, createCommands(settings, lockPath));
        const poolKey = () => readKey(pool);
        const exported = await exports.open(chosen, { root: rootOf({ group }), kind, log, poolKey });
        return await openVolumes(pool, settings.capacity, { exported, log, release });
      } catch (error) {
        release();
        throw error;
      }
    },
  };
}

function rootOf({ group }: Pick<PoolName, 'group'>): string {
  return `/dev/${group}`;
}

/**
 * Locks a pool against other gateways of this machine. Returns once no command of an earlier gateway runs, and the path
 * of the lock that commands hold.
 */
async function lockPool({ group, thinPool }: PoolName, log: Log) {
  const directory = join(locks, group, thinPool);
  await createDirectories(directory);
  const wait = { waitMs: vacateTimeoutMs, log };
  const release = await lockDirectory(directory, what, wait);
  const lockPath = join(directory, 'commands');
  const { O_CREAT, O_NOFOLLOW, O_RDONLY } = constants;
  const free = await lockFile(
    openSync(lockPath, O_RDONLY | O_CREAT | O_NOFOLLOW, 0o600),
    `${what} "${lockPath}"`,
    wait,
  );
  if (free) {
    free();
    return { lockPath, release };
  }
  release();
  throw new Error(`commands of LVM that an earlier gateway started still run; "lsof ${lockPath}" lists them`);
}

type OpenParts = { readonly exported: Export; readonly log: Log; readonly release: () => void };

async function openVolumes(
  pool: LvmPool,
  capacity: number | undefined,
  { exported, log, release }: OpenParts,
): Promise<Backend> {
  const { thin, volumes } = await pool.report();
  await pool.resume(volumes);
  const stepBytes = Math.max(thin.extentBytes, 2 ** 20);
  return {
    name: 'lvm',
    attachmentBounds: exportBounds(exported),
    ...createVolumes(pool, exported),
    accessModes: exported.accessModes,
    accessTypes: ['mount', 'block'],
    parameters: z.strictObject({}),
    sizes: { minimumBytes: stepBytes, stepBytes, defaultBytes: Math.max(2 ** 30, stepBytes) },
    sources: ['snapshot', 'volume'],
    snapshots: createSnapshots(pool),
    changes: createChanges(pool),
    listedAs: `a thin volume "${pool.group}/fairlead.volume.CLUSTER.NAME" with the tag fairlead.volume=CLUSTER.NAME, listed as CLUSTER.NAME`,
    owner: createOwnerMark(pool),
    capacity: async () => ({ totalBytes: capacity ?? (await pool.report()).thin.sizeBytes }),
    async restore(attached) {
      const all = await Array.fromAsync(attached);
      const known = all.map(({ volume }) => volume);
      const report = await activate(pool, known).catch((error: unknown) => {
        // One faulty volume must not keep the others from their nodes.
        log.error('cannot activate every volume', { detail: asProblem(error).detail });
        return pool.report();
      });
      const { protocol } = exported;
      const find = async (volume: KnownVolume) => requireUsable(pool, report, volume);
      await exported.restore?.(exportedAttachments(each(all), { protocol, log, find }));
    },
    async close() {
      await exported.close?.();
      release();
    },
  };
}

async function* each<T>(items: readonly T[]): AsyncGenerator<T> {
  yield* items;
}
