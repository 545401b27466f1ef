import * as z from 'zod';
import { createSteadyReader } from '../../src/lib/numbers.ts';
import type { BackendPlugin } from '../backend.ts';
import type { ExportPlugin } from '../export.ts';
import { devicePlugin, deviceSettings } from '../local/devices/device-plugin.ts';
import type { ExportParts } from '../local/devices/device-volumes.ts';
import { findMissingFeatures, findPoolFaults, programs } from './zfs/check.ts';
import { createCommands } from './zfs/commands.ts';
import { createDeletion } from './zfs/deletion.ts';
import { createOwnerMark, readKey, readOwner } from './zfs/key.ts';
import { maxDataset } from './zfs/names.ts';
import { deviceOf, openPool, poolNoun, type ZfsPool } from './zfs/pool.ts';
import { createSnapshots } from './zfs/snapshots.ts';
import { createVolumes, parameters, stepBytes } from './zfs/volumes.ts';

const settingsWith = (exports: ExportPlugin) =>
  z.strictObject({
    dataset: z
      .string()
      .regex(
        /^[A-Za-z][A-Za-z0-9_.:-]*(\/[A-Za-z0-9_.:-]+)+$/,
        'name a dataset below a pool, such as tank/fairlead',
      )
      .max(maxDataset, `is too long: use at most ${maxDataset} characters`)
      .describe('the dataset that contains the volumes; other datasets and volumes in it are not touched'),
    ...deviceSettings(exports, 'the space that the dataset uses and has available'),
  });

type Settings = z.output<ReturnType<typeof settingsWith>>;

/** Stores volumes as zvols of ZFS on this machine, and attaches them through one of the exports. */
export function zfs(exports: ExportPlugin): BackendPlugin<ReturnType<typeof settingsWith>> {
  return {
    settings: settingsWith(exports),
    addressOf: ({ dataset }) => dataset,
    readOwner,
    ...devicePlugin<Settings, ZfsPool>(exports, {
      poolNoun,
      commands: 'ZFS',
      programs,
      lockOf: ({ dataset }) => `zfs/${dataset}`,
      rootOf: ({ dataset }) => deviceOf(dataset),
      openPool: ({ dataset }, lockPath) => openPool(dataset, createCommands(dataset, lockPath)),
      findFaults: ({ dataset }) => findPoolFaults(dataset),
      findMissingFeatures: async ({ dataset, capacity }) =>
        capacity === undefined ? findMissingFeatures(dataset) : [],
      readKey,
      open: openBackend,
    }),
  };
}

async function openBackend(pool: ZfsPool, { capacity }: Settings, parts: ExportParts) {
  const deletion = createDeletion(pool, parts.log);
  await deletion.start();
  // The records of ZFS itself use a little of the space.
  const measure = await createSteadyReader(async () => {
    const { usedBytes, availableBytes } = await pool.report();
    return usedBytes + availableBytes;
  });
  return {
    name: 'zfs',
    ...createVolumes(pool, deletion, parts),
    parameters,
    sizes: { minimumBytes: stepBytes, stepBytes, defaultBytes: 2 ** 30 },
    snapshots: createSnapshots(pool, deletion),
    listedAs: `a zvol "${pool.dataset}/fairlead.volume.CLUSTER.NAME" with its record in the property fairlead:volume, listed as CLUSTER.NAME`,
    owner: createOwnerMark(pool),
    capacity: async () => ({ totalBytes: capacity ?? (await measure()) }),
  };
}
