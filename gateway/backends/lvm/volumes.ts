import { preconditionProblem, Problem, unavailableProblem } from '../../../src/api/problem.ts';
import { poll } from '../../../src/lib/concurrency.ts';
import type { Backend, HealthEntry, KnownVolume, NewVolume, VolumeRef, VolumeSource } from '../../backend.ts';
import type { Export, ExportedVolume } from '../../export.ts';
import { requireWithinLimit } from '../../local/copies.ts';
import { fullnessFaults, volumeFaults } from '../../local/pool-faults.ts';
import { tagOptions, type Noun } from './names.ts';
import { isUnfinished, type LvmPool, type PoolReport, type ThinPool, type ThinVolume } from './pool.ts';

/** Other programs, such as udev, open a device for a moment after it was closed. */
const openPatience = { everyMs: 100, timeoutMs: 3_000 };

export function createVolumes(
  pool: LvmPool,
  exported: Export,
): Required<Pick<Backend, 'create' | 'expand' | 'delete' | 'attach' | 'detach' | 'volumeHealth' | 'list'>> {
  const pathOf = (id: string): string => pool.pathOf(pool.nameOf('volume', id));
  const gateOf = (id: string): string => pool.gateOf(pool.nameOf('volume', id));
  return {
    /** Creates a volume in one step, or completes a copy that is still as small as its source. */
    async create(volume) {
      const { id, nonce, limitBytes } = volume;
      const report = await pool.report();
      if (!report.findMade('volume', { id, nonce })) await createNew(pool, report, volume);
      const made = requireVolume(await activate(pool, [volume]), volume);
      if (limitBytes > 0 && made.sizeBytes > limitBytes)
        throw new Problem('ALREADY_EXISTS', `volume "${id}" already exists with ${made.sizeBytes} bytes`);
      const sizeBytes = await extend(pool, made, volume.requiredBytes);
      await openGate(pool, exported, { id, nonce, path: pathOf(id), sizeBytes });
      return { sizeBytes };
    },

    async expand(volume, { requiredBytes }) {
      const found = requireVolume(await activate(pool, [volume]), volume);
      const sizeBytes = await extend(pool, found, requiredBytes);
      const grown = { ...volume, path: pathOf(volume.id), sizeBytes };
      if (pool.gates.isOpen(gateOf(volume.id))) await openGate(pool, exported, grown);
      await exported.resize?.(grown);
      return { sizeBytes, nodeExpansionRequired: true };
    },

    async delete(volume) {
      await requireUnused(pool, exported, volume);
      pool.known.forget(volume.id);
      await pool.remove('volume', volume);
    },

    async attach(volume, access) {
      const find = async (): Promise<ExportedVolume> =>
        openGate(pool, exported, requireUsable(pool, await activate(pool, [volume]), volume));
      return exported.publish(pool.known.find(volume) ?? (await find()), access);
    },
    detach: (volume, nodeId, cluster) =>
      exported.withdraw({ ...volume, path: pathOf(volume.id) }, nodeId, cluster),
    volumeHealth: volume => healthOf(pool, volume),
    list: () => pool.list('volume'),
  };
}

/** Finds a volume or snapshot; NOT_FOUND when it is missing. */
export function requireVolume(report: PoolReport, volume: VolumeRef, noun: Noun = 'volume'): ThinVolume {
  const found = report.find(noun, volume);
  if (found) return found;
  throw new Problem('NOT_FOUND', `${noun} "${volume.id}" is missing in the thin pool`);
}

/**
 * Finds an active volume that nodes can use. FAILED_PRECONDITION when it is missing or too small, UNAVAILABLE when it is
 * not active.
 */
export function requireUsable(pool: LvmPool, report: PoolReport, volume: KnownVolume): ExportedVolume {
  const { id, nonce, sizeBytes } = volume;
  const found = report.find('volume', volume);
  if (!found || found.sizeBytes < sizeBytes)
    throw preconditionProblem(`the thin volume of volume "${id}" is missing or smaller than the volume`);
  const path = pool.pathOf(found.name);
  if (!found.isActive || found.isSuspended)
    throw unavailableProblem(`the device ${path} of volume "${id}" is not active`);
  return { id, ...(nonce !== undefined && { nonce }), path, sizeBytes: found.sizeBytes };
}

/**
 * Makes the devices of volumes usable: after a reboot they may be inactive, and after a crash of LVM suspended or too
 * small. Missing volumes are left out. Returns a report of the pool as it is then.
 */
export async function activate(pool: LvmPool, volumes: readonly VolumeRef[]): Promise<PoolReport> {
  const report = await pool.report();
  const found = volumes.flatMap(volume => report.find('volume', volume) ?? []);
  if (found.every(one => one.isActive && !isUnfinished(pool.group, one))) return report;
  const inactive = found.filter(one => !one.isActive).map(({ name }) => pool.operandOf(name));
  const on = ['lvchange', '--activate', 'y', '--ignoreactivationskip', '--'];
  if (inactive.length > 0) await pool.change([...on, ...inactive], `activate "${inactive.join('", "')}"`);
  await pool.refresh(found);
  return pool.report();
}

/**
 * Opens the gate of a volume that a report has shown, and returns the volume with the gate's path. The gate stays until
 * the volume is deleted. A virtual machine has the device itself: it may start before the gateway, when there are no
 * gates.
 */
export async function openGate(
  pool: LvmPool,
  { protocol }: Pick<Export, 'protocol'>,
  volume: ExportedVolume,
): Promise<ExportedVolume> {
  if (protocol === 'device') return pool.known.add(volume);
  const path = await pool.gates.open(pool.gateOf(pool.nameOf('volume', volume.id)), volume);
  return pool.known.add({ ...volume, path }, volume.path);
}

async function createNew(pool: LvmPool, report: PoolReport, volume: NewVolume): Promise<void> {
  const { id, nonce, source, requiredBytes } = volume;
  const options = ['--yes', '--name', pool.nameOf('volume', id), ...tagOptions('volume', { id, nonce })];
  const work = `create volume "${id}"`;
  if (source) {
    const origin = requireSource(report, volume, source);
    await pool.refresh([origin]);
    const copy = ['--snapshot', '--permission', 'rw', '--setactivationskip', 'n'];
    await pool.change(['lvcreate', ...options, ...copy, '--', pool.operandOf(origin.name)], work);
  } else {
    const size = ['--virtualsize', `${requiredBytes}b`];
    const thin = ['--type', 'thin', '--thinpool', pool.thinPool, '--wipesignatures', 'n'];
    await pool.change(['lvcreate', ...options, ...thin, ...size, '--', pool.group], work);
  }
}

/** Finds the source of a copy. OUT_OF_RANGE when it is larger than the limit, because data would be lost. */
function requireSource(report: PoolReport, { limitBytes }: NewVolume, source: VolumeSource): ThinVolume {
  const found =
    source.kind === 'volume'
      ? requireVolume(report, source.volume)
      : requireVolume(report, source.snapshot, 'snapshot');
  requireWithinLimit('the source', found.sizeBytes, limitBytes);
  return found;
}

/** Extends a volume that is smaller. Returns its size. */
async function extend(
  pool: LvmPool,
  { name, sizeBytes, extentBytes }: ThinVolume,
  requiredBytes: number,
): Promise<number> {
  const wantedBytes = Math.ceil(requiredBytes / extentBytes) * extentBytes;
  if (sizeBytes >= wantedBytes) return sizeBytes;
  const args = ['lvextend', '--size', `${wantedBytes}b`, '--', pool.operandOf(name)];
  await pool.change(args, `extend "${pool.operandOf(name)}"`);
  return wantedBytes;
}

/** FAILED_PRECONDITION while an export or a program of this machine uses the volume. */
async function requireUnused(pool: LvmPool, exported: Export, volume: VolumeRef): Promise<void> {
  const name = pool.nameOf('volume', volume.id);
  const users = (await exported.users?.({ ...volume, path: pool.pathOf(name) })) ?? [];
  if (users.length > 0)
    throw preconditionProblem(`volume "${volume.id}" is still in use by ${users.join(', ')}`);
  await pool.gates.close(pool.gateOf(name)).catch(() => {});
  const checkClosed = async (): Promise<true | undefined> =>
    (await pool.report()).find('volume', volume)?.isOpen ? undefined : true;
  if (await poll(checkClosed, openPatience)) return;
  throw preconditionProblem(`volume "${volume.id}" is still in use: ${pool.pathOf(name)} is open`);
}

/** Reports the faults of a volume and of its pool. */
async function healthOf(pool: LvmPool, volume: KnownVolume): Promise<readonly HealthEntry[]> {
  const report = await pool.report();
  const foundBytes = report.find('volume', volume)?.sizeBytes;
  return [
    ...volumeFaults({ ...volume, foundBytes, noun: 'thin volume' }),
    ...(foundBytes === undefined ? [] : poolFaults(report.thin)),
  ];
}

/** Reports the faults of the pool, among them that it will be full soon. */
function poolFaults({ fault, parts }: ThinPool): readonly HealthEntry[] {
  const message = `LVM reports the thin pool as ${fault}`;
  const failed = { status: 'DEGRADED', reason: 'PoolFailed', message } as const;
  return [...(fault === '' ? [] : [failed]), ...fullnessFaults(parts)];
}
