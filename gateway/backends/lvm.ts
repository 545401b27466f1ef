import * as z from 'zod';
import type { AttachedVolume, BackendPlugin } from '../backend.ts';
import type { ExportPlugin } from '../export.ts';
import { devicePlugin, deviceSettings } from '../local/devices/device-plugin.ts';
import type { ExportParts } from '../local/devices/device-volumes.ts';
import { createChanges, releaseMetadata } from './lvm/changes.ts';
import { findPoolFaults, programs } from './lvm/check.ts';
import { createCommands } from './lvm/commands.ts';
import { createOwnerMark, readKey, readOwner } from './lvm/key.ts';
import { isFitGroup } from './lvm/names.ts';
import { openPool, poolNoun, spaceOf, type LvmPool } from './lvm/pool.ts';
import { createSnapshots } from './lvm/snapshots.ts';
import { createVolumes } from './lvm/volumes.ts';

const lvmName = z
  .string()
  .regex(
    /^[A-Za-z0-9_+.][A-Za-z0-9_+.-]*$/,
    'use letters, digits, +, ., _ and - only, and do not begin with a dash',
  );

const settingsWith = (exports: ExportPlugin) =>
  z.strictObject({
    group: lvmName.refine(isFitGroup, 'is too long: use at most 70 characters').describe('the volume group'),
    thinPool: lvmName.describe('the thin pool of the group; its other thin volumes are not touched'),
    ...deviceSettings(exports, 'the size of the thin pool, less the sizes of its other thin volumes'),
  });

type Settings = z.output<ReturnType<typeof settingsWith>>;

/** Stores volumes as thin volumes of LVM on this machine, and attaches them through one of the exports. */
export function lvm(exports: ExportPlugin): BackendPlugin<ReturnType<typeof settingsWith>> {
  return {
    settings: settingsWith(exports),
    addressOf: ({ group, thinPool }) => `${group}/${thinPool}`,
    readOwner,
    ...devicePlugin<Settings, LvmPool>(exports, {
      poolNoun,
      commands: 'LVM',
      programs,
      lockOf: ({ group, thinPool }) => `lvm/${group}/${thinPool}`,
      rootOf: ({ group }) => `/dev/${group}`,
      openPool: (settings, lockPath) => openPool(settings, createCommands(settings, lockPath)),
      // LVM would wait for a suspended gate if this machine is a node as well.
      prepare: pool => pool.gates.resume(),
      findFaults: findPoolFaults,
      readKey,
      open: openBackend,
    }),
  };
}

async function openBackend(pool: LvmPool, { capacity }: Settings, parts: ExportParts) {
  const { thin, volumes: present } = await pool.report();
  await pool.refresh(present);
  await releaseMetadata(pool);
  const stepBytes = Math.max(thin.extentBytes, 2 ** 20);
  const volumes = createVolumes(pool, parts);
  return {
    name: 'lvm',
    ...volumes,
    parameters: z.strictObject({}),
    sizes: { minimumBytes: stepBytes, stepBytes, defaultBytes: Math.max(2 ** 30, stepBytes) },
    snapshots: createSnapshots(pool),
    changes: createChanges(pool),
    listedAs: `a thin volume "${pool.group}/fairlead.volume.CLUSTER.NAME" with the tag fairlead.volume=CLUSTER.NAME, listed as CLUSTER.NAME`,
    owner: createOwnerMark(pool),
    capacity: async () => ({ totalBytes: capacity ?? spaceOf(await pool.report()) }),
    async restore(attached: AsyncIterable<AttachedVolume>) {
      await volumes.restore(attached);
      // A virtual machine writes past the gates of an earlier export.
      if (parts.exported.protocol === 'device')
        for (const { name } of (await pool.report()).volumes)
          await pool.gates.close(pool.gateOf(name)).catch(() => {});
    },
  };
}
