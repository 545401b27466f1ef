import * as z from 'zod';
import { invalidProblem, preconditionProblem, Problem } from '../../../src/api/problem.ts';
import type { Backend, HealthEntry, KnownVolume, NewVolume, VolumeRef, VolumeSource } from '../../backend.ts';
import type { Export, ExportedVolume } from '../../export.ts';
import { requireWithinLimit } from '../../local/copies.ts';
import { fullnessFaults, volumeFaults } from '../../local/pool-faults.ts';
import type { Deletion } from './deletion.ts';
import { nameOf, recordOptions } from './names.ts';
import { deviceOf, requireZvol, type PoolReport, type ZfsPool, type Zvol } from './pool.ts';

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

export function createVolumes(
  pool: ZfsPool,
  exported: Export,
  deletion: Deletion,
): Required<Pick<Backend, 'create' | 'expand' | 'delete' | 'attach' | 'detach' | 'volumeHealth' | 'list'>> {
  const deviceFor = (id: string): string => deviceOf(pool.pathOf(nameOf('volume', id)));
  return {
    /** Creates a volume in one step, or completes a copy that is still as small as its source. */
    async create(volume) {
      const { id, nonce, limitBytes } = volume;
      const report = await pool.report();
      if (!report.findMade('volume', { id, nonce })) await createNew(pool, report, { volume, deletion });
      const made = requireZvol(await pool.report(), volume);
      if (limitBytes > 0 && made.sizeBytes > limitBytes)
        throw new Problem('ALREADY_EXISTS', `volume "${id}" already exists with ${made.sizeBytes} bytes`);
      const sizeBytes = await extend(pool, made, volume.requiredBytes);
      pool.known.add({ id, nonce, path: await pool.requireDevice(made.path), sizeBytes });
      return { sizeBytes };
    },

    async expand(volume, { requiredBytes }) {
      const sizeBytes = await extend(pool, requireZvol(await pool.report(), volume), requiredBytes);
      await exported.resize?.({ ...volume, path: deviceFor(volume.id), sizeBytes });
      return { sizeBytes, nodeExpansionRequired: true };
    },

    async delete(volume) {
      const users = (await exported.users?.({ ...volume, path: deviceFor(volume.id) })) ?? [];
      if (users.length > 0)
        throw preconditionProblem(`volume "${volume.id}" is still in use by ${users.join(', ')}`);
      pool.known.forget(volume.id);
      await deletion.volume(volume);
    },

    attach: async (volume, access) =>
      exported.publish(
        pool.known.find(volume) ?? (await requireUsable(pool, await pool.report(), volume)),
        access,
      ),
    detach: async (volume, nodeId, cluster) =>
      exported.withdraw({ ...volume, path: deviceFor(volume.id) }, nodeId, cluster),
    volumeHealth: volume => healthOf(pool, volume),
    list: () => pool.list('volume'),
  };
}

/**
 * Finds a volume that nodes can use. FAILED_PRECONDITION when it is missing or too small, UNAVAILABLE when its device is
 * missing.
 */
export async function requireUsable(
  pool: ZfsPool,
  report: PoolReport,
  { id, nonce, sizeBytes }: KnownVolume,
): Promise<ExportedVolume> {
  const ref: VolumeRef = { id, ...(nonce !== undefined && { nonce }) };
  const found = report.find('volume', ref);
  if (!found || found.sizeBytes < sizeBytes)
    throw preconditionProblem(`the zvol of volume "${id}" is missing or smaller than the volume`);
  return pool.known.add({
    ...ref,
    path: await pool.requireDevice(found.path),
    sizeBytes: found.sizeBytes,
  });
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
 * Finds the source of a copy. OUT_OF_RANGE when it is larger than the limit, because data would be lost; INVALID_ARGUMENT
 * for another block size, which a copy cannot have.
 */
function requireSource(report: PoolReport, volume: NewVolume, source: VolumeSource): Zvol {
  const { limitBytes } = volume;
  const found =
    source.kind === 'volume'
      ? requireZvol(report, source.volume)
      : requireZvol(report, source.snapshot, 'snapshot');
  requireWithinLimit('the source', found.sizeBytes, limitBytes);
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

/** Reports the faults of a volume and of its pool. */
async function healthOf(pool: ZfsPool, volume: KnownVolume): Promise<readonly HealthEntry[]> {
  const report = await pool.report();
  const foundBytes = report.find('volume', volume)?.sizeBytes;
  return [
    ...volumeFaults({ ...volume, foundBytes, noun: 'zvol' }),
    ...(foundBytes === undefined ? [] : await poolFaults(pool, report)),
  ];
}

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
