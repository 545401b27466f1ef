import { invalidProblem, unavailableProblem } from '../../../src/api/problem.ts';
import { topMount, type Mount } from '../../../src/lib/linux/mountinfo.ts';
import { deviceNumberOf } from '../../host/mount.ts';
import { readLine } from '../../host/sysfs.ts';
import type { Device } from '../../connector.ts';
import { inaccessible, type Carrier, type LocateRequest, type Source } from '../carrier.ts';
import { connectDevice, deviceMembers, isHere, locateDevice, owns, type DeviceVolume } from '../device.ts';
import { mayBeOwn } from '../mounts.ts';
import { requireNoFormatOptions } from '../request-checks.ts';
import { openDevice } from '../../format/opened.ts';
import { closeViews, findShown, growViews, judgeShown, openNotedView } from './read-only-views.ts';

/** Creates the carrier of a raw block device: staging connects it, publishing binds its device node. */
export function createRawDevice(volume: DeviceVolume): Carrier {
  const { agent, record } = volume;
  const { device, volumeId } = record;
  const members = deviceMembers(volume);
  const judge = (mount: Mount) => judgeShown(volume, mount);
  return {
    ...members,
    isMounted: false,
    judge,
    async isReadonly(mount) {
      const number = await deviceNumberOf(mount, agent.host);
      return (await readLine(`/sys/dev/block/${number}/ro`, agent.host)) === '1';
    },
    async disconnect() {
      await closeViews(volume);
      await members.disconnect();
    },
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
      if (number === undefined) return undefined;
      const located = locateDevice(volume, number);
      return {
        ...located,
        async growDevice(requiredBytes) {
          const sizeBytes = await located.growDevice(requiredBytes);
          await growViews(volume);
          return sizeBytes;
        },
      };
    },
    isHere: disks => isHere(volume, disks, false),
    async examine({ path, mounts }) {
      const mount = topMount(mounts, path);
      const isShown = !mount || (await judge(mount)) === 'own';
      if (isShown && (!device || (await owns(volume, device.number)))) return [];
      return [inaccessible('DeviceGone', `the device of volume "${volumeId}" is missing`)];
    },
  };
}

/** INVALID_ARGUMENT for an encrypted volume with several writers: each node would encrypt unaware of the other nodes. */
function requireOneWriter({ attachment, capability }: DeviceVolume['record']): void {
  if (attachment.encryption !== undefined && capability.accessMode === 'MULTI_NODE_MULTI_WRITER')
    throw invalidProblem(
      'MULTI_NODE_MULTI_WRITER cannot be used with an encrypted volume: each node would encrypt it by itself',
    );
}

/** Connects the device again, without secrets: an encrypted device must be open already. */
async function reconnect(volume: DeviceVolume): Promise<Device> {
  return (await openDevice(volume, { device: await connectDevice(volume) }, {})).device;
}

/** Returns the recorded device if it is still the volume's; otherwise connects it again. */
async function findDevice(volume: DeviceVolume): Promise<Device> {
  const { agent, record } = volume;
  const current = agent.records.get(record.volumeId) ?? record;
  const { device: known } = current;
  if (known && (await owns(volume, known.number))) return known;
  const device = await reconnect({ ...volume, record: current });
  agent.records.keep({ ...(agent.records.get(record.volumeId) ?? record), device });
  return device;
}

/** Returns the device node as the source of bind mounts, after connecting the device if need be. */
async function findNode(volume: DeviceVolume): Promise<Source> {
  const { agent, record } = volume;
  const device = await agent.cache.connecting(record.volumeId, () => findDevice(volume));
  const shows = async (mount: Mount) => (await findShown(mount, agent.host)) === device.number;
  return {
    path: device.path,
    readonly: device.readonly,
    ...(!device.readonly && { openView: note => openNotedView(device, agent.host, note) }),
    async findUse(mounts) {
      for (const mount of mounts)
        if (mayBeOwn(agent, record.volumeId, mount) && (await shows(mount))) return mount;
      return undefined;
    },
  };
}

/** Returns the number of the volume's device at a target path, or at the staging path, where nothing is mounted. */
async function findNumber(
  volume: DeviceVolume,
  { path, mounts, isAlone }: LocateRequest,
): Promise<string | undefined> {
  const { device, stagingPath, volumeId } = volume.record;
  const mount = topMount(mounts, path);
  if (mount) {
    const shown = await findShown(mount, volume.agent.host);
    return shown !== undefined && (await owns(volume, shown)) ? shown : undefined;
  }
  if (path !== stagingPath) return undefined;
  if (device && (await owns(volume, device.number))) return device.number;
  if (!isAlone)
    throw unavailableProblem(
      `the device of block volume "${volumeId}" may not be connected; the next publish connects it`,
    );
  return (await reconnect(volume)).number;
}
