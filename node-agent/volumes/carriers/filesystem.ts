import { asProblem, Problem } from '../../../src/api/problem.ts';
import { topMount, type Mount } from '../../../src/lib/linux/mountinfo.ts';
import type { Device } from '../../connector.ts';
import { deviceConnectorFor } from '../../connectors/index.ts';
import { findFilesystem } from '../../filesystems/index.ts';
import { ensureFilesystem } from '../../format/format.ts';
import {
  fitMounted,
  fitUnmounted,
  mendAfterRefusal,
  requireUndamaged,
  type FoundVolume,
} from '../../format/fsck-and-grow.ts';
import { growInUse } from '../../format/grow-in-use.ts';
import { findUser } from '../../host/disk-use.ts';
import { deviceNumberOf, mountAndSee, unmountAll } from '../../host/mount.ts';
import { inPhase } from '../../host/phases.ts';
import { contextDroppedProblem, hasContext } from '../../host/selinux.ts';
import type { VolumeRecord } from '../../state/records.ts';
import type { Agent } from '../agent.ts';
import type { Carrier, NamedDisk } from '../carrier.ts';
import {
  connectDevice,
  connectUnshared,
  deviceMembers,
  findOwnNumber,
  isOwnNumber,
  isStillConnected,
  judgeDevice,
  locateDevice,
} from '../device.ts';
import { isMountedReadonly, requireFilesystemUsable, requireFlags } from '../request-checks.ts';
import { mountedMembers } from './mounted.ts';

/** A filesystem on a device: proved blank before it is made, checked and grown before and after it is mounted. */
export function createFilesystem(agent: Agent, record: VolumeRecord): Carrier {
  const { capability } = record;
  return {
    ...mountedMembers(agent, record, mount => judgeDevice(agent, record, mount)),
    ...deviceMembers(agent, record),
    requireUsable: () => requireFilesystemUsable(record),
    async connect(secrets) {
      const device = await connectUnshared(agent, record, secrets);
      return { device, prepare: () => prepare(agent, record, device) };
    },
    async finish({ type }, secrets) {
      const device = await connectDevice(agent, record, secrets);
      const filesystem = findFilesystem(type);
      if (filesystem) await fitMounted(agent, { record, device, found: { filesystem, isNew: false } });
      return device;
    },
    isAsAsked: mount =>
      mount.options.includes('ro') === isMountedReadonly(record) && hasContext(mount, capability),
    async locate({ path, mounts }) {
      const mount = topMount(mounts, path);
      const number = mount && (await findOwnNumber(agent, record, mount));
      if (number === undefined) return undefined;
      const growFilesystem = () => growInUse(agent, record, number);
      return { ...locateDevice(agent, record, number), growFilesystem };
    },
    isHere: disks => isUsed(agent, record, disks),
  };
}

/** Makes the filesystem where there is none, checks and grows one that is there; returns what mounts it. */
async function prepare(agent: Agent, record: VolumeRecord, device: Device): Promise<() => Promise<void>> {
  const found = await inPhase(agent, 'format', () => ensureFilesystem(agent, record, device));
  requireFlags(record.capability.mountFlags ?? [], found.filesystem);
  const volume = { record, device, found };
  await inPhase(agent, 'fit', () => fitUnmounted(agent, volume));
  return async () => {
    await inPhase(agent, 'mount', () => mountProved(agent, volume)).catch(error =>
      explainUnfinished(agent, record, error),
    );
    await inPhase(agent, 'fit', () => fitMounted(agent, volume));
  };
}

/** Mounts, and looks once more at what is mounted then: it keeps its number, so that this is the last word on it. */
async function mountProved(agent: Agent, volume: FoundVolume): Promise<void> {
  const { record, device } = volume;
  const { attachment, capability, stagingPath, volumeId } = record;
  const mount = await mountMended(agent, volume);
  const isOwn = await isStillConnected(attachment, device, agent.host);
  if (isOwn && hasContext(mount, capability)) return;
  await unmountAll(agent, stagingPath);
  if (isOwn) throw await contextDroppedProblem(volumeId, agent.host);
  throw new Problem(
    'UNAVAILABLE',
    `device "${device.path}" was no longer volume "${volumeId}" when it was mounted`,
  );
}

/** Mounts; a mount that is refused is tried once more after the check of a filesystem that the agent mends. */
async function mountMended(agent: Agent, volume: FoundVolume): Promise<Mount> {
  try {
    return await mountDevice(agent, volume);
  } catch (error) {
    const { record, device, found } = volume;
    const isRefused = error instanceof Problem && error.code === 'UNAVAILABLE';
    const mounts = await agent.host.mounts();
    if (!isRefused || mounts.some(mount => mount.device === device.number)) throw error;
    if (await hasTwin(agent, volume))
      throw new Problem(
        'FAILED_PRECONDITION',
        `volume "${record.volumeId}" holds a ${found.filesystem.name} with the UUID of one that is mounted on this node, such as a clone's source, and this kernel does not mount both`,
        error,
      );
    if (record.formatting) throw error;
    await requireUndamaged(agent, volume);
    if (!found.filesystem.unmounted) throw error;
    await mendAfterRefusal(agent, volume);
    return mountDevice(agent, volume);
  }
}

async function hasTwin({ host }: Agent, { found }: FoundVolume): Promise<boolean> {
  const { filesystem, uuid } = found;
  if (uuid === undefined || !filesystem.twinDirectory) return false;
  return (await host.list(filesystem.twinDirectory(uuid))).length > 0;
}

async function mountDevice({ host }: Agent, { record, device, found }: FoundVolume): Promise<Mount> {
  const { name, mountOptions, readonlyOptions } = found.filesystem;
  const { attachment, capability, stagingPath: path, volumeId } = record;
  if (!(await isStillConnected(attachment, device, host)))
    throw new Problem('UNAVAILABLE', `device "${device.path}" is no longer volume "${volumeId}"`);
  const options = [
    ...mountOptions,
    ...(attachment.readonly ? ['ro', ...readonlyOptions] : []),
    ...(capability.mountFlags ?? []),
  ];
  const args = ['-t', name, ...(options.length > 0 ? ['-o', options.join(',')] : [])];
  return mountAndSee(host, [...args, '--', device.path, path], {
    path,
    shows: async mount => (await deviceNumberOf(mount, host)) === device.number,
  });
}

/** Puts back the mark that was cleared for a mount that failed, and says what the mark means for it. */
async function explainUnfinished({ records }: Agent, record: VolumeRecord, error: unknown): Promise<never> {
  if (!record.formatting) throw error;
  await records.put(record);
  throw new Problem(
    'UNAVAILABLE',
    `${asProblem(error).detail}; an mkfs of volume "${record.volumeId}" was interrupted and may have left it unfinished: wipe the device to have it made again`,
    error,
  );
}

/** A disk that the machine connects by itself is back after a reboot; only its use says that the volume is here. */
async function isUsed(
  { host }: Agent,
  { attachment }: VolumeRecord,
  disks: readonly NamedDisk[],
): Promise<boolean> {
  const { isSelfConnecting } = deviceConnectorFor(attachment);
  for (const disk of disks) {
    if (!(await isOwnNumber(attachment, disk.number, host))) continue;
    if (!isSelfConnecting || (await findUser(disk, host)) !== undefined) return true;
  }
  return false;
}
