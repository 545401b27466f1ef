import type { Protocol } from '../../src/api/attachment.ts';
import { preconditionProblem, unavailableProblem } from '../../src/api/problem.ts';
import { poll } from '../../src/lib/concurrency.ts';
import type { Mount } from '../../src/lib/linux/mountinfo.ts';
import type { Connection, Device, DeviceConnector, Judgement, Secrets } from '../connector.ts';
import { closeMapping, findBelow, growMapping } from '../format/mapping.ts';
import { withoutPassphrases } from '../format/passphrases.ts';
import type { Host } from '../host.ts';
import { findUser } from '../host/disk-use.ts';
import { deviceNumberOf } from '../host/mount.ts';
import { inPhase } from '../host/phases.ts';
import { readLine } from '../host/sysfs.ts';
import type { VolumeRecord } from '../state/records.ts';
import type { Agent } from './agent.ts';
import type { Located, NamedDisk } from './carrier.ts';

/** A volume that is a device, mounted or not, and what connects it. */
export type DeviceVolume = {
  readonly agent: Agent;
  readonly record: VolumeRecord;
  readonly connector: DeviceConnector<Protocol>;
};

const growth = { everyMs: 100, timeoutMs: 2_000 };

/** What every volume has that is a device. */
export function deviceMembers(volume: DeviceVolume) {
  const { agent, connector, record } = volume;
  const { attachment, volumeId } = record;
  const others = () =>
    agent.records
      .here()
      .filter(other => other.volumeId !== volumeId && !other.isLeaving)
      .map(other => other.attachment);
  return {
    isSelfConnecting: connector.isSelfConnecting === true,
    ownsDevice: (number: string) => ownsConnected(volume, number),
    async releaseAfterUse() {
      const connection = connector.releaseAfterUse && (await findConnection(volume));
      if (connection) await connector.releaseAfterUse?.(connection, agent.host);
    },
    disconnect: () =>
      inPhase(agent, 'disconnect', async () => {
        if (isEncrypted(volume)) await closeMapping(attachment, agent.host);
        await connector.disconnect(attachment, agent.host, others);
        const left = await findConnection(volume);
        if (left) await connector.release?.(left, agent.host);
      }),
    judge: (mount: Mount) => judge(volume, mount),
  };
}

/**
 * Connects a volume's device as it is, encrypted or not, with the secrets of the call that asks, and notes which use of its device
 * number this is; what `meanwhile` begins runs beside that. FAILED_PRECONDITION while it is connected as a device that is not the volume any more.
 */
export function connectDevice(
  volume: DeviceVolume,
  secrets: Secrets = {},
  meanwhile?: (device: Device) => void,
): Promise<Device> {
  const { agent, record, connector } = volume;
  const { host, records } = agent;
  const { attachment, volumeId } = record;
  return inPhase(agent, 'connect', async () => {
    const earlier = await findConnection(volume);
    if (earlier && !(await ownsConnected(volume, earlier.number)))
      throw preconditionProblem(
        `volume "${volumeId}" is connected as "${earlier.path}", whose file was replaced or deleted; unpublish and unstage it first`,
      );
    const device = await connector.connect(attachment, host, withoutPassphrases(secrets));
    meanwhile?.(device);
    const diskseq = await readDiskseq(device.number, host);
    if (diskseq === undefined) return device;
    const { path, number } = device;
    if (connector.release)
      await records.noteConnection(volumeId, { path, number, use: await useOf(diskseq, host) });
    return { ...device, diskseq };
  });
}

/** What the volume was connected as, if that device has been the same since; undefined where that is not recorded. */
async function findConnection({ agent, record }: DeviceVolume): Promise<Connection | undefined> {
  const { connection } = agent.records.get(record.volumeId) ?? {};
  const isSame = connection && (await readUse(connection.number, agent.host)) === connection.use;
  return isSame ? connection : undefined;
}

/**
 * UNAVAILABLE unless the device is the volume's, and has been without a break since it was connected: another disk that
 * takes the number in between leaves another sequence number behind, even when it is gone again.
 */
export async function requireStillConnected(volume: DeviceVolume, device: Device): Promise<void> {
  const { agent, record } = volume;
  const { diskseq, number, path, below } = device;
  const isSame = diskseq === undefined || (await readDiskseq(number, agent.host)) === diskseq;
  const isOwn = below === undefined ? ownsConnected : owns;
  if (isSame && (await isOwn(volume, number))) return;
  throw unavailableProblem(`device "${path}" is no longer volume "${record.volumeId}"`);
}

/** True when the block device with this number is the volume's now, as it is used: what is encrypted, decrypted. */
export async function owns(volume: DeviceVolume, number: string): Promise<boolean> {
  const connected = await findConnected(volume, number);
  return connected !== undefined && ownsConnected(volume, connected);
}

/** True when the block device with this number is the volume's now, as it is connected. */
function ownsConnected({ agent, record, connector }: DeviceVolume, number: string): Promise<boolean> {
  return connector.owns(record.attachment, number, agent.host);
}

/** The number of the connected device behind the one that is used; undefined where that is none of the volume's. */
async function findConnected(volume: DeviceVolume, number: string): Promise<string | undefined> {
  if (!isEncrypted(volume)) return number;
  return (await findBelow(volume.record.attachment, number, volume.agent.host))?.number;
}

function isEncrypted({ record }: DeviceVolume): boolean {
  return record.attachment.encryption !== undefined;
}

/** The number of the volume's device, when the mount shows that, or undefined when it shows anything else. */
export async function findOwnNumber(volume: DeviceVolume, mount: Mount): Promise<string | undefined> {
  const number = await deviceNumberOf(mount, volume.agent.host);
  return number !== undefined && (await owns(volume, number)) ? number : undefined;
}

/** What a mount shows: the volume's device, something else, or a leftover: a device that is gone, or is not the volume any more. */
async function judge(volume: DeviceVolume, mount: Mount): Promise<Judgement> {
  const { agent, record, connector } = volume;
  const number = await deviceNumberOf(mount, agent.host);
  if (number === undefined) return 'foreign';
  if (await owns(volume, number)) return 'own';
  const isLeft =
    (await showsGoneDevice(mount, agent.host)) ||
    (await findConnection(volume))?.number === number ||
    (isEncrypted(volume) && (await findBelow(record.attachment, number, agent.host)) !== undefined) ||
    (await connector.isLeftover?.(record.attachment, number, agent.host));
  return isLeft ? 'stale' : 'foreign';
}

/** True when one of the disks is the volume's, and in use where that is asked. */
export async function isHere(volume: DeviceVolume, disks: readonly NamedDisk[], inUse: boolean) {
  if (volume.record.connection) return (await findConnection(volume)) !== undefined;
  for (const disk of disks) {
    if (!(await ownsConnected(volume, disk.number))) continue;
    if (!inUse || (await findUser(disk, volume.agent.host)) !== undefined) return true;
  }
  return false;
}

/** True when a mount shows a block device that is not there any more. */
async function showsGoneDevice(mount: Mount, host: Host): Promise<boolean> {
  const number = await deviceNumberOf(mount, host);
  return number !== undefined && (await host.readText(`/sys/dev/block/${number}/dev`)) === undefined;
}

/** A volume's device by its number, which was proved to be the volume's. */
export function locateDevice(volume: DeviceVolume, number: string): Located {
  const { host } = volume.agent;
  return {
    readBytes: () => readSizeBytes(number, host),
    async growDevice(requiredBytes) {
      const sizeBytes = await growConnected(
        volume,
        (await findConnected(volume, number)) ?? number,
        requiredBytes,
      );
      if (isEncrypted(volume)) await growMapping(volume.record.attachment, host);
      return sizeBytes;
    },
  };
}

async function growConnected(
  { agent, record, connector }: DeviceVolume,
  number: string,
  requiredBytes: number,
): Promise<number> {
  const { host } = agent;
  const { attachment, volumeId } = record;
  const before = await readSizeBytes(number, host);
  if (requiredBytes > 0 && before >= requiredBytes) return before;
  await connector.rescan?.(attachment, host);
  let sizeBytes = before;
  const isLarge = async () => (sizeBytes = await readSizeBytes(number, host)) >= requiredBytes || undefined;
  if (await poll(isLarge, growth)) return sizeBytes;
  throw unavailableProblem(
    `the device of volume "${volumeId}" has ${sizeBytes} bytes and not yet the ${requiredBytes} asked for`,
  );
}

/** The size of a block device in bytes, as the kernel sees it now; a device that is missing is UNAVAILABLE. */
export async function readSizeBytes(number: string, host: Host): Promise<number> {
  const sectors = await host.readText(`/sys/dev/block/${number}/size`);
  if (sectors === undefined) throw unavailableProblem(`device ${number} is missing`);
  return Number(sectors) * 512;
}

/** Which use of a device number this is, after a reboot too. */
async function readUse(number: string, host: Host): Promise<string | undefined> {
  const diskseq = await readDiskseq(number, host);
  return diskseq === undefined ? undefined : useOf(diskseq, host);
}

async function useOf(diskseq: string, host: Host): Promise<string> {
  return `${await readLine('/proc/sys/kernel/random/boot_id', host)} ${diskseq}`;
}

/** Which use of its number a device is; kernels before 5.15 count none, and partitions have none. */
export async function readDiskseq(number: string, host: Host): Promise<string | undefined> {
  return (await host.readText(`/sys/dev/block/${number}/diskseq`))?.trim();
}
