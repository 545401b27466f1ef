import * as z from 'zod';
import type { Log } from '../../src/lib/log.ts';
import { createSteadyReader } from '../../src/lib/numbers.ts';
import type { Backend, BackendPlugin } from '../backend.ts';
import type { Export, ExportPlugin, ExportSettings } from '../export.ts';
import { devicePlugin } from '../local/device-plugin.ts';
import { exportBounds, exportedAttachments } from '../local/exported-attachments.ts';
import { byteCount } from '../local/settings-schemas.ts';
import { findMissingFeatures, findPoolFaults } from './zfs/check.ts';
import { createCommands } from './zfs/commands.ts';
import { createDeletion } from './zfs/deletion.ts';
import { createOwnerMark, readKey, readOwner } from './zfs/key.ts';
import { maxDataset } from './zfs/names.ts';
import { deviceOf, openPool, type PoolReport, type ZfsPool } from './zfs/pool.ts';
import { createSnapshots } from './zfs/snapshots.ts';
import { createVolumes, parameters, requireUsable, stepBytes } from './zfs/volumes.ts';

const settingsWith = (exports: z.ZodType<ExportSettings>) =>
  z.strictObject({
    dataset: z
      .string()
      .regex(
        /^[A-Za-z][A-Za-z0-9_.:-]*(\/[A-Za-z0-9_.:-]+)+$/,
        'name a dataset below a pool, such as tank/fairlead',
      )
      .max(maxDataset, `is too long: use at most ${maxDataset} characters`)
      .describe('the dataset that contains the volumes; other datasets and volumes in it are not touched'),
    capacity: byteCount
      .optional()
      .describe(
        'bytes that volumes and snapshots may reserve; default: the space that the dataset uses and has available, so a larger value reserves more than there is',
      ),
    export: exports.describe('the export of volumes to nodes; loop exports no block devices'),
  });

type Settings = z.output<ReturnType<typeof settingsWith>>;

/** Stores volumes as zvols of ZFS on this machine, and attaches them through one of the exports. */
export function zfs(
  exports: ExportPlugin<z.ZodType<ExportSettings>>,
): BackendPlugin<ReturnType<typeof settingsWith>> {
  return {
    settings: settingsWith(exports.settings),
    addressOf: ({ dataset }) => dataset,
    readOwner,
    ...devicePlugin<Settings>(exports, {
      what: 'the dataset',
      commands: 'ZFS',
      lockOf: ({ dataset }) => `zfs/${dataset}`,
      rootOf: ({ dataset }) => deviceOf(dataset),
      findFaults: ({ dataset }) => findPoolFaults(dataset),
      findMissingFeatures: async ({ dataset, capacity }) =>
        capacity === undefined ? findMissingFeatures(dataset) : [],
      async open({ dataset, capacity }, { lockPath, openExport, ...parts }) {
        const pool = openPool(dataset, createCommands(dataset, lockPath));
        const exported = await openExport(() => readKey(pool));
        return openVolumes(pool, capacity, { exported, ...parts });
      },
    }),
  };
}

type OpenParts = { readonly exported: Export; readonly log: Log; readonly release: () => void };

async function openVolumes(
  pool: ZfsPool,
  capacity: number | undefined,
  { exported, log, release }: OpenParts,
): Promise<Backend> {
  const deletion = createDeletion(pool, log);
  await deletion.start();
  // The records of ZFS itself use a little of the space.
  const measure = await createSteadyReader(async () => {
    const { usedBytes, availableBytes } = await pool.report();
    return usedBytes + availableBytes;
  });
  return {
    name: 'zfs',
    attachmentBounds: exportBounds(exported),
    ...createVolumes(pool, exported, deletion),
    accessModes: exported.accessModes,
    accessTypes: ['mount', 'block'],
    parameters,
    sizes: { minimumBytes: stepBytes, stepBytes, defaultBytes: 2 ** 30 },
    sources: ['snapshot', 'volume'],
    snapshots: createSnapshots(pool, deletion),
    listedAs: `a zvol "${pool.dataset}/fairlead.volume.CLUSTER.NAME" with its record in the property fairlead:volume, listed as CLUSTER.NAME`,
    owner: createOwnerMark(pool),
    capacity: async () => ({ totalBytes: capacity ?? (await measure()) }),
    async restore(attached) {
      let first: PoolReport | undefined = await pool.report();
      const { protocol } = exported;
      const find = async (volume: Parameters<typeof requireUsable>[2]) =>
        requireUsable(pool, first ?? (await pool.report()), volume);
      await exported.restore?.(exportedAttachments(attached, { protocol, log, find }));
      first = undefined;
    },
    async close() {
      await exported.close?.();
      release();
    },
  };
}
