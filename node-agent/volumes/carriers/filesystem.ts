import { asProblem, preconditionProblem, Problem, unavailableProblem } from '../../../src/api/problem.ts';
import { topMount, type Mount } from '../../../src/lib/linux/mountinfo.ts';
import type { Device, Secrets } from '../../connector.ts';
import { findFilesystem } from '../../filesystems/index.ts';
import { ensureFilesystem, probe, type Opened, type Probed } from '../../format/format.ts';
import {
  fitMounted,
  fitUnmounted,
  growInUse,
  mendAfterRefusal,
  requireUndamaged,
  type FoundVolume,
} from '../../format/fsck-and-grow.ts';
import { deviceNumberOf, mountAndSee, unmountAll } from '../../host/mount.ts';
import { inPhase } from '../../host/phases.ts';
import { contextDroppedProblem, hasContext } from '../../host/selinux.ts';
import type { Carrier, Prepared } from '../carrier.ts';
import {
  connectDevice,
  deviceMembers,
  findOwnNumber,
  isHere,
  locateDevice,
  requireStillConnected,
  type DeviceVolume,
} from '../device.ts';
import { requireFilesystemUsable, requireFlags } from '../request-checks.ts';
import { mountedMembers } from './mounted.ts';
import { openDevice } from './opened.ts';

/** A filesystem on a device: proved blank before it is made, checked and grown before and after it is mounted. */
export function createFilesystem(volume: DeviceVolume): Carrier {
  const { agent, record } = volume;
  const members = deviceMembers(volume);
  let probing: Promise<Probed> | undefined;
  const look = (at: Pick<Device, 'path'>): void => {
    probing ??= probe(at, agent.host);
    // Should the volume not be connected, what was seen is of no use to anybody.
    probing.catch(() => {});
  };
  const content = volume.connector.contentPath?.(record.attachment);
  return {
    ...mountedMembers(record, members.judge),
    ...members,
    requireUsable: () => requireFilesystemUsable(record),
    ...(content !== undefined && { lookAhead: () => look({ path: content }) }),
    async connect(secrets) {
      const device = await connectDevice(volume, secrets, look);
      return { device, prepare: () => prepare(volume, { device, probing }, secrets) };
    },
    async finish({ type }, secrets) {
      // What is mounted may hold data, so that no mark counts.
      const { formatting: _, ...unmarked } = record;
      const connected = await connectDevice(volume, secrets);
      const { device } = await openDevice({ ...volume, record: unmarked }, { device: connected }, secrets);
      const filesystem = findFilesystem(type);
      if (filesystem) await fitMounted({ ...volume, device, found: { filesystem, isNew: false } });
      return device;
    },
    async locate({ path, mounts }) {
      const mount = topMount(mounts, path);
      const number = mount && (await findOwnNumber(volume, mount));
      if (number === undefined) return undefined;
      return { ...locateDevice(volume, number), growFilesystem: () => growInUse(volume, number) };
    },
    // A disk that the machine connects by itself is back after a reboot: only its use says that the volume is here.
    isHere: disks => isHere(volume, disks, members.isSelfConnecting),
  };
}

/** Opens the device, makes the filesystem where there is none, checks and grows one that is there. */
async function prepare(
  volume: DeviceVolume,
  connected: Omit<Opened, 'isNew'>,
  secrets: Secrets,
): Promise<Prepared> {
  const { agent, record } = volume;
  const opened = await openDevice(volume, connected, secrets);
  const { device } = opened;
  const found = await inPhase(agent, 'format', () => ensureFilesystem(volume, opened));
  requireFlags(record.capability.mountFlags ?? [], found.filesystem);
  const all = { ...volume, device, found };
  await inPhase(agent, 'fit', () => fitUnmounted(all));
  const mount = async (): Promise<void> => {
    await inPhase(agent, 'mount', () => mountProved(all)).catch(error => explainUnfinished(all, error));
    await inPhase(agent, 'fit', () => fitMounted(all));
  };
  return { device, mount };
}

/** Mounts, and looks once more at what is mounted then: it keeps its number, so that this is the last word on it. */
async function mountProved(volume: FoundVolume): Promise<void> {
  const { agent, record, device } = volume;
  const mount = await mountMended(volume);
  try {
    await requireStillConnected(volume, device);
    if (!hasContext(mount, record.capability)) throw await contextDroppedProblem(record.volumeId, agent.host);
  } catch (error) {
    await unmountAll(agent, record.stagingPath);
    throw error;
  }
}

/** Mounts; a mount that is refused is tried once more after the check of a filesystem that the agent mends. */
async function mountMended(volume: FoundVolume): Promise<Mount> {
  try {
    return await mountDevice(volume);
  } catch (error) {
    const { agent, record, device, found } = volume;
    const isRefused = error instanceof Problem && error.code === 'UNAVAILABLE';
    const mounts = await agent.host.mounts();
    if (!isRefused || mounts.some(mount => mount.device === device.number)) throw error;
    if (await hasTwin(volume))
      throw preconditionProblem(
        `volume "${record.volumeId}" holds a ${found.filesystem.name} with the UUID of one that is mounted on this node, such as a clone's source, and this kernel does not mount both`,
        error,
      );
    if (record.formatting) throw error;
    await requireUndamaged(volume);
    await mendAfterRefusal(volume, error);
    return mountDevice(volume);
  }
}

async function hasTwin({ agent, found }: FoundVolume): Promise<boolean> {
  const { filesystem, uuid } = found;
  if (uuid === undefined || !filesystem.twinDirectory) return false;
  return (await agent.host.list(filesystem.twinDirectory(uuid))).length > 0;
}

async function mountDevice(volume: FoundVolume): Promise<Mount> {
  const { agent, record, device, found } = volume;
  const { name, mountOptions, readonlyOptions } = found.filesystem;
  const { attachment, capability, stagingPath: path } = record;
  await requireStillConnected(volume, device);
  const options = [
    ...mountOptions,
    ...(attachment.readonly ? ['ro', ...readonlyOptions] : []),
    ...(capability.mountFlags ?? []),
  ];
  return mountAndSee(agent.host, {
    type: name,
    options,
    source: device.path,
    path,
    shows: async mount => (await deviceNumberOf(mount, agent.host)) === device.number,
  });
}

/** Puts back the mark that was cleared for a mount that failed, and says what the mark means for it. */
async function explainUnfinished({ agent, record, found }: FoundVolume, error: unknown): Promise<never> {
  if (!record.formatting || found.isNew) throw error;
  await agent.records.put(record);
  throw unavailableProblem(
    `${asProblem(error).detail}; an mkfs of volume "${record.volumeId}" was interrupted and may have left it unfinished: wipe the device to have it made again`,
    error,
  );
}
