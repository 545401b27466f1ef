import * as z from 'zod';
import { invalidProblem } from '../../../src/api/problem.ts';
import type { HealthEntry, NewVolume, VolumeSource } from '../../backend.ts';
import { createDeviceVolumes, type ExportParts } from '../../local/devices/device-volumes.ts';
import { fullnessFaults } from '../../local/devices/pool-faults.ts';
import type { Deletion } from './deletion.ts';
import { nameOf, recordOptions } from './names.ts';
import { deviceOf, type PoolReport, type ZfsPool, type Zvol } from './pool.ts';

/** The parameters of a StorageClass: properties of the volumes, as ZFS names them. */
export const parameters = z.strictObject({
  compression: z
    .string()
    .regex(
      /^(on|off|lz4|lzjb|zle|gzip(-[1-9])?|zstd(-(fast|[1-9]|1[0-9]))?)$/,
      'use a value such as lz4, zstd or off',
    )
    .exactOptional(),
  volblocksize: z.enum(['4K', '8K', '16K', '32K', '64K', '128K']).exactOptional(),
});

export function createVolumes(pool: ZfsPool, deletion: Deletion, parts: ExportParts) {
  return createDeviceVolumes<Zvol, PoolReport>(
    {
      noun: 'zvol',
      known: pool.known,
      report: volume => (volume ? pool.reportOn(volume) : pool.report()),
      // Udev activates every zvol.
      activate: ([volume, ...others]) =>
        volume && others.length === 0 ? pool.reportOn(volume) : pool.report(),
      pathOf: id => deviceOf(pool.pathOf(nameOf('volume', id))),
      create: (report, volume) => createNew(pool, report, { volume, deletion }),
      extend: (volume, requiredBytes) => extend(pool, volume, requiredBytes),
      open: async ({ path }) => [await pool.requireDevice(path)],
      remove: deletion.volume,
      faults: report => poolFaults(pool, report),
    },
    parts,
  );
}

type Creation = { readonly volume: NewVolume; readonly deletion: Deletion };

async function createNew(pool: ZfsPool, report: PoolReport, { volume, deletion }: Creation): Promise<void> {
  const { id, nonce, source, requiredBytes } = volume;
  const { compression, volblocksize } = volume.parameters as z.output<typeof parameters>;
  // Without volmode=dev, the kernel reads partition tables that users write.
  const properties = ['volmode=dev', ...(compression === undefined ? [] : [`compression=${compression}`])];
  const options = [...recordOptions('volume', nonce, [id]), ...properties.flatMap(one => ['-o', one])];
  const path = pool.pathOf(nameOf('volume', id));
  const work = `create volume "${id}"`;
  if (!source) {
    const block = volblocksize === undefined ? [] : ['-b', volblocksize];
    await pool.change(['create', '-s', '-V', String(requiredBytes), ...block, ...options, path], work);
    return;
  }
  const origin = requireSource(report, volume, source);
  const clone = (from: string): Promise<void> => pool.change(['clone', ...options, from, path], work);
  await (source.kind === 'snapshot' ? clone(origin.path) : deletion.whileCopied(origin.path, clone));
}

/**
 * Finds the source of a copy. OUT_OF_RANGE when it is larger than the limit; INVALID_ARGUMENT for another block size,
 * which a copy cannot have.
 */
function requireSource(report: PoolReport, volume: NewVolume, source: VolumeSource): Zvol {
  const found = report.requireSource(source, volume.limitBytes);
  const { volblocksize } = volume.parameters;
  const [volumePath] = found.path.split('@');
  const blockBytes = report.all.find(({ path }) => path === volumePath)?.blockBytes ?? 0;
  if (volblocksize === undefined || parseInt(volblocksize, 10) * 1_024 === blockBytes) return found;
  throw invalidProblem(
    `volblocksize: a copy has the blocks of its source, ${blockBytes / 1_024}K, and not ${volblocksize}`,
  );
}

/** Extends a volume that is smaller. Returns its size. */
async function extend(pool: ZfsPool, { path, sizeBytes }: Zvol, requiredBytes: number): Promise<number> {
  if (sizeBytes >= requiredBytes) return sizeBytes;
  const wantedBytes = Math.ceil(requiredBytes / stepBytes) * stepBytes;
  await pool.change(['set', `volsize=${wantedBytes}`, path], `extend "${path}"`);
  return wantedBytes;
}

/** Every size is a multiple of the largest block. */
export const stepBytes = 2 ** 20;

/** Reports the faults of the storage pool, and that the dataset or the pool will be full soon. */
async function poolFaults(pool: ZfsPool, report: PoolReport): Promise<readonly HealthEntry[]> {
  const { health, usedPercent } = await pool.status();
  const { usedBytes, availableBytes } = report;
  const ownPercent = Math.floor((usedBytes / (usedBytes + availableBytes)) * 100);
  const part = {
    name: 'Data',
    noun: `the space of dataset "${pool.dataset}"`,
    usedPercent: availableBytes < stepBytes ? 100 : Math.max(ownPercent, usedPercent),
    fullPercent: 100,
  };
  const reason = `Pool${health.charAt(0)}${health.slice(1).toLowerCase()}`;
  const message = `ZFS reports the pool as ${health}; see "zpool status"`;
  const fault = { status: 'DEGRADED', reason, message } as const;
  return [...(health === 'ONLINE' ? [] : [fault]), ...fullnessFaults([part])];
}
