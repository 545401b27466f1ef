import { preconditionProblem, unavailableProblem } from '../../../src/api/problem.ts';
import { poll } from '../../../src/lib/concurrency.ts';
import type { HealthEntry, NewVolume, VolumeRef } from '../../backend.ts';
import { createDeviceVolumes, type ExportParts } from '../../local/devices/device-volumes.ts';
import { fullnessFaults } from '../../local/devices/pool-faults.ts';
import { tagOptions } from './names.ts';
import { isUnfinished, type LvmPool, type PoolReport, type ThinPool, type ThinVolume } from './pool.ts';

/** Other programs, such as udev, open a device for a moment after it was closed. */
const openPatience = { everyMs: 100, timeoutMs: 3_000 };

export function createVolumes(pool: LvmPool, parts: ExportParts) {
  return createDeviceVolumes<ThinVolume, PoolReport>(
    {
      noun: 'thin volume',
      known: pool.known,
      report: pool.report,
      activate: volumes => activate(pool, volumes),
      pathOf: id => pool.pathOf(pool.nameOf('volume', id)),
      create: (report, volume) => createNew(pool, report, volume),
      extend: (volume, requiredBytes) => extend(pool, volume, requiredBytes),
      open: volume => openGate(pool, parts, volume),
      remove: volume => removeClosed(pool, volume),
      faults: async ({ thin }) => poolFaults(thin),
    },
    parts,
  );
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
 * Opens the gate of an active volume. It stays until the volume is deleted. A virtual machine has the device itself: it
 * may start before the gateway, when there are no gates.
 */
async function openGate(
  pool: LvmPool,
  { exported }: ExportParts,
  { name, sizeBytes, isActive, isSuspended }: ThinVolume,
): Promise<readonly [string, ...string[]]> {
  const path = pool.pathOf(name);
  if (!isActive || isSuspended) throw unavailableProblem(`the device ${path} is not active`);
  if (exported.protocol === 'device') return [path];
  return [await pool.gates.open(pool.gateOf(name), { path, sizeBytes }), path];
}

async function createNew(pool: LvmPool, report: PoolReport, volume: NewVolume): Promise<void> {
  const { id, nonce, source, requiredBytes } = volume;
  const options = ['--yes', '--name', pool.nameOf('volume', id), ...tagOptions('volume', { id, nonce })];
  const work = `create volume "${id}"`;
  if (source) {
    const origin = report.requireSource(source, volume.limitBytes);
    await pool.refresh([origin]);
    const copy = ['--snapshot', '--permission', 'rw', '--setactivationskip', 'n'];
    await pool.change(['lvcreate', ...options, ...copy, '--', pool.operandOf(origin.name)], work);
  } else {
    const size = ['--virtualsize', `${requiredBytes}b`];
    const thin = ['--type', 'thin', '--thinpool', pool.thinPool, '--wipesignatures', 'n'];
    await pool.change(['lvcreate', ...options, ...thin, ...size, '--', pool.group], work);
  }
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

/** Removes a volume. FAILED_PRECONDITION while a program of this machine has it open. */
async function removeClosed(pool: LvmPool, volume: VolumeRef): Promise<void> {
  const name = pool.nameOf('volume', volume.id);
  await pool.gates.close(pool.gateOf(name)).catch(() => {});
  const checkClosed = async (): Promise<true | undefined> =>
    (await pool.report()).find('volume', volume)?.isOpen ? undefined : true;
  if (!(await poll(checkClosed, openPatience)))
    throw preconditionProblem(`volume "${volume.id}" is still in use: ${pool.pathOf(name)} is open`);
  await pool.remove('volume', volume);
}

/** Reports the faults of the pool, among them that it will be full soon. */
function poolFaults({ fault, parts }: ThinPool): readonly HealthEntry[] {
  const message = `LVM reports the thin pool as ${fault}`;
  const failed = { status: 'DEGRADED', reason: 'PoolFailed', message } as const;
  return [...(fault === '' ? [] : [failed]), ...fullnessFaults(parts)];
}
