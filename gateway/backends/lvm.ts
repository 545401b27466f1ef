import * as z from 'zod';
import { asProblem } from '../../src/api/problem.ts';
import type { Log } from '../../src/lib/log.ts';
import type { Backend, BackendPlugin, KnownVolume } from '../backend.ts';
import type { Export, ExportPlugin, ExportSettings } from '../export.ts';
import { devicePlugin } from '../local/device-plugin.ts';
import { exportBounds, exportedAttachments } from '../local/exported-attachments.ts';
import { byteCount } from '../local/settings-schemas.ts';
import { createChanges, releaseMetadata } from './lvm/changes.ts';
import { findPoolFaults } from './lvm/check.ts';
import { createCommands } from './lvm/commands.ts';
import { createOwnerMark, readKey, readOwner } from './lvm/key.ts';
import { isFitGroup } from './lvm/names.ts';
import { openPool, spaceOf, type LvmPool, type PoolReport } from './lvm/pool.ts';
import { createSnapshots } from './lvm/snapshots.ts';
import { activate, createVolumes, openGate, requireUsable } from './lvm/volumes.ts';

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
        'bytes that volumes and snapshots may reserve; default: the size of the thin pool, less the sizes of its other thin volumes; a larger value reserves more than there is',
      ),
    export: exports.describe('the export of volumes to nodes; loop exports no block devices'),
  });

type Settings = z.output<ReturnType<typeof settingsWith>>;

/** Stores volumes as thin volumes of LVM on this machine, and attaches them through one of the exports. */
export function lvm(
  exports: ExportPlugin<z.ZodType<ExportSettings>>,
): BackendPlugin<ReturnType<typeof settingsWith>> {
  return {
    settings: settingsWith(exports.settings),
    addressOf: ({ group, thinPool }) => `${group}/${thinPool}`,
    readOwner,
    ...devicePlugin<Settings>(exports, {
      what: 'the thin pool',
      commands: 'LVM',
      lockOf: ({ group, thinPool }) => `lvm/${group}/${thinPool}`,
      rootOf: ({ group }) => `/dev/${group}`,
      // LVM would wait for a suspended gate if this machine is a node as well.
      prepare: (settings, lockPath) => openPool(settings, createCommands(settings, lockPath)).gates.resume(),
      findFaults: findPoolFaults,
      async open(settings, { lockPath, openExport, ...parts }) {
        const pool = openPool(settings, createCommands(settings, lockPath));
        const exported = await openExport(() => readKey(pool));
        return openVolumes(pool, settings.capacity, { exported, ...parts });
      },
    }),
  };
}

type OpenParts = { readonly exported: Export; readonly log: Log; readonly release: () => void };

async function openVolumes(
  pool: LvmPool,
  capacity: number | undefined,
  { exported, log, release }: OpenParts,
): Promise<Backend> {
  const { thin, volumes } = await pool.report();
  await pool.refresh(volumes);
  await releaseMetadata(pool);
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
    capacity: async () => ({ totalBytes: capacity ?? spaceOf(await pool.report()) }),
    async restore(attached) {
      const all = await Array.fromAsync(attached);
      const known = all.map(({ volume }) => volume);
      let first: PoolReport | undefined = await activate(pool, known).catch((error: unknown) => {
        // One faulty volume must not keep the others from their nodes.
        log.error('cannot activate every volume', { detail: asProblem(error).detail });
        return pool.report();
      });
      const { protocol } = exported;
      const find = async (volume: KnownVolume) =>
        openGate(pool, exported, requireUsable(pool, first ?? (await activate(pool, [volume])), volume));
      await exported.restore?.(exportedAttachments(each(all), { protocol, log, find }));
      const { volumes: present } = first;
      first = undefined;
      // A virtual machine writes past the gates of an earlier export.
      if (protocol === 'device')
        for (const { name } of present) await pool.gates.close(pool.gateOf(name)).catch(() => {});
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
