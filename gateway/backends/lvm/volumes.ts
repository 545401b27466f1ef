import { preconditionProblem, Problem } from '../../../src/api/problem.ts';
import { poll } from '../../../src/lib/concurrency.ts';
import type { Backend, HealthEntry, KnownVolume, NewVolume, VolumeRef, VolumeSource } from '../../backend.ts';
import type { Export, ExportedVolume } from '../../export.ts';
import { tagOptions, type Noun } from './names.ts';
import { partNouns, type LvmPool, type ThinPool, type ThinVolume } from './pool.ts';

/** Other programs, such as udev, open a device for a moment after it was closed. */
const openPatience = { everyMs: 100, timeoutMs: 3_000 };
/** Volumes have a fault once a part of the pool has reached this percentage of its limit. */
const alarmPercent = 80;

export function createVolumes(
  pool: LvmPool,
  exported: Export,
): Required<Pick<Backend, 'create' | 'expand' | 'delete' | 'attach' | 'detach' | 'volumeHealth' | 'list'>> {
  const pathOf = (id: string): string => pool.pathOf(pool.nameOf('volume', id));
  return {
    /** Creates a volume in one step, or completes a copy that is still as small as its source. */
    async create(volume) {
      const { id, nonce, limitBytes } = volume;
      const made = (await pool.findMade('volume', { id, nonce })) ?? (await createNew(pool, volume));
      if (limitBytes > 0 && made.sizeBytes > limitBytes)
        throw new Problem('ALREADY_EXISTS', `volume "${id}" already exists with ${made.sizeBytes} bytes`);
      return { sizeBytes: await extend(pool, made, volume.requiredBytes) };
    },

    async expand(volume, { requiredBytes }) {
      const sizeBytes = await extend(pool, await requireVolume(pool, volume), requiredBytes);
      await exported.resize?.({ ...volume, path: pathOf(volume.id), sizeBytes });
      return { sizeBytes, nodeExpansionRequired: true };
    },

    async delete(volume) {
      await requireUnused(pool, exported, volume);
      await pool.remove('volume', volume);
    },

    async attach(volume, access) {
      const found = await requireUsable(pool, volume);
      await activate(pool, [volume]);
      return exported.publish(found, access);
    },
    detach: async (volume, nodeId, cluster) =>
      exported.withdraw({ ...volume, path: pathOf(volume.id) }, nodeId, cluster),
    volumeHealth: volume => healthOf(pool, volume),
    list: () => pool.list('volume'),
  };
}

/** Finds a volume; NOT_FOUND when it is missing. */
export async function requireVolume(
  pool: LvmPool,
  volume: VolumeRef,
  noun: Noun = 'volume',
): Promise<ThinVolume> {
  const found = await pool.find(noun, volume);
  if (found) return found;
  throw new Problem('NOT_FOUND', `${noun} "${volume.id}" is missing in the thin pool`);
}

/** Finds a volume that nodes can use; FAILED_PRECONDITION when it is missing or too small. */
export async function requireUsable(pool: LvmPool, volume: KnownVolume): Promise<ExportedVolume> {
  const { id, nonce, sizeBytes } = volume;
  const found = await pool.find('volume', volume);
  if (!found || found.sizeBytes < sizeBytes)
    throw preconditionProblem(`the thin volume of volume "${id}" is missing or smaller than the volume`);
  const path = pool.pathOf(found.name);
  return { id, ...(nonce !== undefined && { nonce }), path, sizeBytes: found.sizeBytes };
}

/**
 * Makes the devices of volumes usable: after a reboot they may be inactive, and after a crash of LVM suspended. Missing
 * volumes are left out.
 */
export async function activate(pool: LvmPool, volumes: readonly VolumeRef[]): Promise<void> {
  const { volumes: present } = await pool.report();
  const found = volumes.flatMap(({ id }) => present.get(pool.nameOf('volume', id)) ?? []);
  const inactive = found.filter(one => !one.isActive).map(({ name }) => pool.operandOf(name));
  const on = ['lvchange', '--activate', 'y', '--ignoreactivationskip', '--'];
  if (inactive.length > 0) await pool.change([...on, ...inactive], `activate "${inactive.join('", "')}"`);
  await resume(pool, found);
}

/**
 * Resumes volumes that a killed command of LVM left suspended. LVM must take no snapshot of such a volume: it would
 * record one that the kernel does not have, and then refuse every further change of the pool.
 */
export async function resume(pool: LvmPool, volumes: readonly ThinVolume[]): Promise<void> {
  const suspended = volumes.filter(one => one.isSuspended).map(({ name }) => pool.operandOf(name));
  if (suspended.length > 0)
    await pool.change(['lvchange', '--refresh', '--', ...suspended], `resume "${suspended.join('", "')}"`);
}

async function createNew(pool: LvmPool, volume: NewVolume): Promise<ThinVolume> {
  const { id, nonce, source, requiredBytes } = volume;
  const options = ['--yes', '--name', pool.nameOf('volume', id), ...tagOptions('volume', { id, nonce })];
  const work = `create volume "${id}"`;
  if (source) {
    const origin = await requireSource(pool, volume, source);
    await resume(pool, [origin]);
    const copy = ['--snapshot', '--permission', 'rw', '--setactivationskip', 'n'];
    await pool.change(['lvcreate', ...options, ...copy, '--', pool.operandOf(origin.name)], work);
  } else {
    const size = ['--virtualsize', `${roundUp(requiredBytes, await extentOf(pool))}b`];
    const thin = ['--type', 'thin', '--thinpool', pool.thinPool, '--wipesignatures', 'n'];
    await pool.change(['lvcreate', ...options, ...thin, ...size, '--', pool.group], work);
  }
  return requireVolume(pool, volume);
}

/** Finds the source of a copy. OUT_OF_RANGE when it is larger than the limit, because data would be lost. */
async function requireSource(
  pool: LvmPool,
  { limitBytes }: NewVolume,
  source: VolumeSource,
): Promise<ThinVolume> {
  const found =
    source.kind === 'volume'
      ? await requireVolume(pool, source.volume)
      : await requireVolume(pool, source.snapshot, 'snapshot');
  if (limitBytes > 0 && found.sizeBytes > limitBytes)
    throw new Problem(
      'OUT_OF_RANGE',
      `the source has ${found.sizeBytes} bytes, more than the limit of ${limitBytes}`,
    );
  return found;
}

/** Extends a volume that is smaller. Returns its size. */
async function extend(
  pool: LvmPool,
  { name, sizeBytes }: ThinVolume,
  requiredBytes: number,
): Promise<number> {
  const wantedBytes = roundUp(requiredBytes, await extentOf(pool));
  if (sizeBytes >= wantedBytes) return sizeBytes;
  const args = ['lvextend', '--size', `${wantedBytes}b`, '--', pool.operandOf(name)];
  await pool.change(args, `extend "${pool.operandOf(name)}"`);
  return wantedBytes;
}

async function extentOf(pool: LvmPool): Promise<number> {
  return (await pool.report()).thin.extentBytes;
}

function roundUp(bytes: number, step: number): number {
  return Math.ceil(bytes / step) * step;
}

/** FAILED_PRECONDITION while an export or a program of this machine uses the volume. */
async function requireUnused(pool: LvmPool, exported: Export, volume: VolumeRef): Promise<void> {
  const name = pool.nameOf('volume', volume.id);
  const users = (await exported.users?.({ ...volume, path: pool.pathOf(name) })) ?? [];
  if (users.length > 0)
    throw preconditionProblem(`volume "${volume.id}" is still in use by ${users.join(', ')}`);
  const checkClosed = async (): Promise<true | undefined> =>
    (await pool.find('volume', volume))?.isOpen ? undefined : true;
  if (await poll(checkClosed, openPatience)) return;
  throw preconditionProblem(`volume "${volume.id}" is still in use: ${pool.pathOf(name)} is open`);
}

/** Reports the faults of a volume and of its pool. */
async function healthOf(pool: LvmPool, volume: KnownVolume): Promise<readonly HealthEntry[]> {
  const { id, sizeBytes } = volume;
  const found = await pool.find('volume', volume);
  const faults = poolFaults((await pool.report()).thin);
  const status = 'DATA_LOSS';
  if (!found) {
    const message = `the thin volume of volume "${id}" is missing`;
    return [{ status, reason: 'VolumeMissing', message }];
  }
  if (found.sizeBytes >= sizeBytes) return faults;
  const message = `the thin volume of volume "${id}" has ${found.sizeBytes} bytes, less than the volume's ${sizeBytes}`;
  return [{ status, reason: 'VolumeTruncated', message }, ...faults];
}

/** Reports the faults of the pool, among them that it will be full soon. */
function poolFaults({ fault, parts }: ThinPool): readonly HealthEntry[] {
  const status = 'DEGRADED';
  const full = parts.flatMap(({ name, usedPercent, fullPercent }): HealthEntry[] => {
    if (usedPercent < (fullPercent * alarmPercent) / 100) return [];
    const reason = `Pool${name}${usedPercent >= fullPercent ? 'Full' : 'NearlyFull'}`;
    const message = `${usedPercent} % of the thin pool's ${partNouns[name]} is used; extend it`;
    return [{ status, reason, message }];
  });
  if (fault === '') return full;
  return [{ status, reason: 'PoolFailed', message: `LVM reports the thin pool as ${fault}` }, ...full];
}
