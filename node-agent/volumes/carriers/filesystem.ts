import { basename } from 'node:path';
import { requireMountOptions } from '../../../src/api/filesystems/mount-options.ts';
import { asProblem, preconditionProblem, Problem, unavailableProblem } from '../../../src/api/problem.ts';
import { topMount, type Mount } from '../../../src/lib/linux/mountinfo.ts';
import type { Device, Secrets } from '../../connector.ts';
import { findFilesystem } from '../../filesystems/index.ts';
import { ensureFilesystem, probe, type OpenedDevice, type ProbeResult } from '../../format/format.ts';
import {
  fitMounted,
  fitUnmounted,
  growInUse,
  mendAfterRefusal,
  requireUndamaged,
  type FoundVolume,
} from '../../format/fsck-and-grow.ts';
import { isFrozen } from '../../format/frozen.ts';
import { growthFaultsOf } from '../../format/growth-faults.ts';
import { closeWritableMapping, replayJournal } from '../../format/journal.ts';
import { findLiving } from '../../host/disk-use.ts';
import { deviceNumberOf, mountAndSee, thaw, unmountAll } from '../../host/mount.ts';
import { inPhase } from '../../host/phases.ts';
import { contextDroppedProblem, hasContext } from '../../host/selinux.ts';
import type { Carrier, PreparedVolume } from '../carrier.ts';
import {
  connectDevice,
  deviceMembers,
  findOwnNumber,
  isHere,
  locateDevice,
  requireStillConnected,
  type DeviceVolume,
} from '../device.ts';
import { requireFilesystemUsable } from '../request-checks.ts';
import { mountedMembers, usedOptions } from './mounted.ts';
import { openDevice } from '../../format/opened.ts';

/**
 * Creates the carrier of a filesystem on a device. The device is proved blank before it is formatted; the filesystem is checked
 * and grown before and after it is mounted.
 */
export function createFilesystem(volume: DeviceVolume): Carrier {
  const { agent, record } = volume;
  const members = deviceMembers(volume);
  let probing: Promise<ProbeResult> | undefined;
  const look = (at: Pick<Device, 'path'>): void => {
    probing ??= probe(at, agent.host);
    // If connecting fails, nothing awaits the probe; this avoids an unhandled rejection.
    probing.catch(() => {});
  };
  const content = volume.connector.contentPath?.(record.attachment);
  const mounted = mountedMembers(record, members.judge);
  return {
    ...mounted,
    ...members,
    async examine(at) {
      const faults = await mounted.examine(at);
      const isLost = faults.some(({ status }) => status === 'INACCESSIBLE');
      return isLost ? faults : [...faults, ...growthFaultsOf(agent, record.volumeId)];
    },
    requireUsable: () => requireFilesystemUsable(record),
    ...(content !== undefined && { lookAhead: () => look({ path: content }) }),
    async connect(secrets) {
      await closeWritableMapping(volume);
      const device = await connectDevice(volume, secrets, look);
      return { device, prepare: () => prepare(volume, { device, probing }, secrets) };
    },
    async finish({ type }, secrets) {
      // A mounted volume may hold data, so the mark of an unfinished mkfs no longer counts.
      const { formatting: _, ...unmarked } = record;
      const connected = await connectDevice(volume, secrets);
      const { device } = await openDevice({ ...volume, record: unmarked }, { device: connected }, secrets);
      const filesystem = findFilesystem(type);
      if (filesystem) await fitMounted({ ...volume, device, found: { filesystem, isNew: false } });
      return device;
    },
    async thaw() {
      if (await thaw(record.stagingPath, agent.host)) agent.cache.frozen.delete(record.volumeId);
    },
    isFrozen: mayWait => isFrozen(agent, record, mayWait),
    async locate({ path, mounts }) {
      const mount = topMount(mounts, path);
      const number = mount && (await findOwnNumber(volume, mount));
      if (number === undefined) return undefined;
      return { ...locateDevice(volume, number), growFilesystem: () => growInUse(volume, number) };
    },
    // A disk plugged in by the hypervisor reappears after a reboot, so only its use shows that the volume is connected.
    isHere: disks => isHere(volume, disks, members.isSelfConnecting),
  };
}

/** Opens the device, formats it if it is blank, and checks and grows an existing filesystem. */
async function prepare(
  volume: DeviceVolume,
  connected: Omit<OpenedDevice, 'isNew'>,
  secrets: Secrets,
): Promise<PreparedVolume> {
  const { agent, record } = volume;
  const opened = await openDevice(volume, connected, secrets);
  const found = await inPhase(agent, 'format', () => ensureFilesystem(volume, opened));
  requireMountOptions(record.capability.mountFlags ?? [], found.filesystem.name);
  const device = await inPhase(agent, 'fit', () =>
    replayJournal({ ...volume, device: opened.device, found }, secrets),
  );
  const all = { ...volume, device, found };
  await thawUnseen(all);
  await inPhase(agent, 'fit', () => fitUnmounted(all));
  const mount = async (): Promise<void> => {
    await inPhase(agent, 'mount', () => mountProved(all)).catch(error => explainUnfinished(all, error));
    await inPhase(agent, 'fit', () => fitMounted(all));
  };
  return { device, mount };
}

/**
 * Thaws a filesystem that the kernel keeps alive without a visible mount, as after unmounting it while frozen, by mounting
 * and unmounting it once. Errors are left to the mount that follows, which fails for the same reason.
 */
async function thawUnseen(volume: FoundVolume): Promise<void> {
  const { agent, record, device } = volume;
  const { host } = agent;
  if ((await findLiving(basename(device.path), host)) === undefined) return;
  if ((await host.kindOf(record.stagingPath)) !== 'directory') return;
  const isMounted = await mountDevice(volume).then(
    () => true,
    () => false,
  );
  if (isMounted) await unmountAll(agent, record.stagingPath);
}

/** Mounts the volume and then proves the device once more: a mounted device keeps its number, so this proof is final. */
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

/** Mounts the volume; if the mount is refused, repairs the filesystem where the agent may do so and tries once more. */
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
        `volume "${record.volumeId}" holds a ${found.filesystem.name} with the UUID of one that is mounted on this node, such as a clone's source, and this kernel does not mount both; use the volume on another node`,
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
  const { name, mountOptions } = found.filesystem;
  const { attachment, stagingPath: path } = record;
  await requireStillConnected(volume, device);
  const requested = usedOptions(agent, record, name);
  const options = [...mountOptions, ...(attachment.readonly ? ['ro'] : []), ...requested];
  return mountAndSee(agent.host, {
    type: name,
    options,
    source: device.path,
    path,
    shows: async mount => (await deviceNumberOf(mount, agent.host)) === device.number,
  });
}

/** Restores the mark of an unfinished mkfs after a failed mount, and adds its meaning to the error. */
async function explainUnfinished({ agent, record, found }: FoundVolume, error: unknown): Promise<never> {
  if (!record.formatting || found.isNew) throw error;
  await agent.records.put(record);
  throw unavailableProblem(
    `${asProblem(error).detail}; an mkfs of volume "${record.volumeId}" was interrupted and may have left it unfinished: wipe the device to have it formatted again`,
    error,
  );
}
