import { invalidProblem, unavailableProblem } from '../../../src/api/problem.ts';
import { isAtOrBelow, topMount, type Mount } from '../../../src/lib/linux/mountinfo.ts';
import { deviceNumberOf } from '../../host/mount.ts';
import type { Device } from '../../connector.ts';
import { inaccessible, type At, type Carrier, type Source } from '../carrier.ts';
import {
  connectDevice,
  deviceMembers,
  findOwnNumber,
  isHere,
  locateDevice,
  owns,
  type DeviceVolume,
} from '../device.ts';
import { requireNoFormatOptions } from '../request-checks.ts';
import { openDevice } from './opened.ts';

/** A device that a pod uses as it is: it is connected when staged, and its node is bound when published. */
export function createRawDevice(volume: DeviceVolume): Carrier {
  const { record } = volume;
  const { device, volumeId } = record;
  return {
    ...deviceMembers(volume),
    isMounted: false,
    requireUsable() {
      requireNoFormatOptions(record, 'block volume');
      requireOneWriter(record);
    },
    async connect(secrets) {
      const connected = await connectDevice(volume, secrets);
      const prepare = async () => ({
        device: (await openDevice(volume, { device: connected }, secrets)).device,
      });
      return { device: connected, prepare };
    },
    findSource: () => findNode(volume),
    async locate(at) {
      const number = await findNumber(volume, at);
      return number === undefined ? undefined : locateDevice(volume, number);
    },
    isHere: disks => isHere(volume, disks, false),
    async examine() {
      if (!device || (await owns(volume, device.number))) return [];
      return [inaccessible('DeviceGone', `device "${device.path}" of volume "${volumeId}" is missing`)];
    },
  };
}

/** INVALID_ARGUMENT for what several nodes write to and each would encrypt, unaware of the others. */
function requireOneWriter({ attachment, capability }: DeviceVolume['record']): void {
  if (attachment.encryption !== undefined && capability.accessMode === 'MULTI_NODE_MULTI_WRITER')
    throw invalidProblem('what several nodes write to cannot be encrypted by each of them');
}

/** The device as it is used, without secrets: it is open already, or it cannot be used. */
async function reconnect(volume: DeviceVolume): Promise<Device> {
  return (await openDevice(volume, { device: await connectDevice(volume) }, {})).device;
}

/** The device's node; the device is connected anew where it is not known to be. */
async function findNode(volume: DeviceVolume): Promise<Source> {
  const { agent, record } = volume;
  const { device: known } = record;
  const isKnown = known && (await owns(volume, known.number));
  const device = isKnown ? known : await reconnect(volume);
  if (!isKnown) agent.records.keep({ ...record, device });
  const shows = async (mount: Mount) => (await deviceNumberOf(mount, agent.host)) === device.number;
  return {
    path: device.path,
    readonly: device.readonly,
    async findUse(mounts) {
      for (const mount of mounts)
        if (isAtOrBelow(mount.path, agent.base.real) && (await shows(mount))) return mount;
      return undefined;
    },
  };
}

/** The number of its device at a target path, or at the staging path, where nothing is mounted. */
async function findNumber(volume: DeviceVolume, { path, mounts, isAlone }: At): Promise<string | undefined> {
  const { device, stagingPath, volumeId } = volume.record;
  const mount = topMount(mounts, path);
  if (mount) return findOwnNumber(volume, mount);
  if (path !== stagingPath) return undefined;
  if (device && (await owns(volume, device.number))) return device.number;
  if (!isAlone)
    throw unavailableProblem(`the device of block volume "${volumeId}" is not known to be connected`);
  return (await reconnect(volume)).number;
}
