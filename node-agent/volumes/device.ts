import type { Protocol } from '../../src/api/attachment.ts';
import { preconditionProblem, unavailableProblem } from '../../src/api/problem.ts';
import { poll } from '../../src/lib/concurrency.ts';
import { topMount, type Mount } from '../../src/lib/linux/mountinfo.ts';
import type { Connection, Device, DeviceConnector, Judgement, Secrets } from '../connector.ts';
import { closeMapping, cutOffMapping, findBelow, growMapping } from '../format/mapping.ts';
import { withoutPassphrases } from '../format/passphrases.ts';
import type { Host } from '../host.ts';
import { findUser, type NamedDisk } from '../host/disk-use.ts';
import { deviceNumberOf } from '../host/mount.ts';
import { inPhase } from '../host/phases.ts';
import { readLine } from '../host/sysfs.ts';
import type { VolumeRecord } from '../state/records.ts';
import type { Agent } from './agent.ts';
import type { LocatedVolume } from './carrier.ts';

/** A volume that is a device, mounted or not, with its connector. */
export type DeviceVolume = {
  readonly agent: Agent;
  readonly record: VolumeRecord;
  readonly connector: DeviceConnector<Protocol>;
};

const growth = { everyMs: 100, timeoutMs: 2_000 };

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
    async recall() {
      const connection = connector.recall && (await findConnection(volume));
      if (connection) await connector.recall?.(attachment, connection, agent.host);
    },
    async cutOff(mounts: readonly Mount[]): Promise<void> {
      const mount = topMount(mounts, record.stagingPath);
      const number = mount && (await deviceNumberOf(mount, agent.host));
      // An unmounted volume has no data in memory, and a device that is gone is cut off already.
      if ((await agent.host.readText(`/sys/dev/block/${number}/dev`)) === undefined) return;
      if (isEncrypted(volume)) await cutOffMapping(attachment, agent.host);
      else await connector.cutOff(attachment, agent.host, others);
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
 * Connects a volume's device without decrypting it, and records the device's sequence number so that it can be recognized
 * later; `meanwhile` starts other work beside that. FAILED_PRECONDITION while the volume is still connected as a device that
 * is no longer the volume.
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
    if (connector.release) await records.noteConnection(volumeId, await toConnection(device, host));
    return { ...device, diskseq };
  });
}

/** Returns the recorded connection if its device has been the same since; undefined otherwise. */
async function findConnection({ agent, record }: DeviceVolume): Promise<Connection | undefined> {
  const { connection } = agent.records.get(record.volumeId) ?? {};
  return connection && (await isStill(connection, agent.host)) ? connection : undefined;
}

/** True while no other device has had the connected device's number. */
export async function isStill({ number, use }: Connection, host: Host): Promise<boolean> {
  return (await readUse(number, host)) === use;
}

/**
 * UNAVAILABLE unless the device has been the volume's without a break since it was connected. A disk that takes the number
 * in between changes the sequence number, even if it is gone again.
 */
export async function requireStillConnected(volume: DeviceVolume, device: Device): Promise<void> {
  const { agent, record } = volume;
  const { diskseq, number, path, below } = device;
  const isSame = diskseq === undefined || (await readDiskseq(number, agent.host)) === diskseq;
  const isOwn = below === undefined ? ownsConnected : owns;
  if (isSame && (await isOwn(volume, number))) return;
  throw unavailableProblem(`device "${path}" is no longer volume "${record.volumeId}"; try again`);
}

/** True if the block device with this number is the one that the volume's users see: decrypted, if it is encrypted. */
export async function owns(volume: DeviceVolume, number: string): Promise<boolean> {
  const connected = await findConnected(volume, number);
  return connected !== undefined && ownsConnected(volume, connected);
}

/** True if the block device with this number is the volume's connected device, below any encryption. */
function ownsConnected({ agent, record, connector }: DeviceVolume, number: string): Promise<boolean> {
  return connector.owns(record.attachment, number, agent.host);
}

/** Returns the number of the connected device below a used one; undefined if the used one is not the volume's. */
async function findConnected(volume: DeviceVolume, number: string): Promise<string | undefined> {
  if (!isEncrypted(volume)) return number;
  return (await findBelow(volume.record.attachment, number, volume.agent.host))?.number;
}

function isEncrypted({ record }: DeviceVolume): boolean {
  return record.attachment.encryption !== undefined;
}

/** Returns the device number of the mount if that device is the volume's; undefined otherwise. */
export async function findOwnNumber(volume: DeviceVolume, mount: Mount): Promise<string | undefined> {
  const number = await deviceNumberOf(mount, volume.agent.host);
  return number !== undefined && (await owns(volume, number)) ? number : undefined;
}

/** Judges whether a mount shows the volume's device, something else, or a leftover: a device that is gone or was replaced. */
async function judge(volume: DeviceVolume, mount: Mount): Promise<Judgement> {
  const number = await deviceNumberOf(mount, volume.agent.host);
  return number === undefined ? 'foreign' : judgeDevice(volume, number);
}

/** Judges, as `judge` does, the device that has or had a number; a removed device may be given by its name. */
export async function judgeDevice(volume: DeviceVolume, number: string): Promise<Judgement> {
  const { agent, record, connector } = volume;
  if (await owns(volume, number)) return 'own';
  const isLeft =
    (await agent.host.readText(`/sys/dev/block/${number}/dev`)) === undefined ||
    (await findConnection(volume))?.number === number ||
    (isEncrypted(volume) && (await findBelow(record.attachment, number, agent.host)) !== undefined) ||
    (await connector.isLeftover?.(record.attachment, number, agent.host));
  return isLeft ? 'stale' : 'foreign';
}

/** True if one of the disks is the volume's and, with `inUse`, is in use. */
export async function isHere(volume: DeviceVolume, disks: readonly NamedDisk[], inUse: boolean) {
  if (volume.record.connection) return (await findConnection(volume)) !== undefined;
  for (const disk of disks) {
    if (!(await ownsConnected(volume, disk.number))) continue;
    if (!inUse || (await findUser(disk, volume.agent.host)) !== undefined) return true;
  }
  return false;
}

/** Makes the size operations on a device; the caller has proved that its number is the volume's. */
export function locateDevice(volume: DeviceVolume, number: string): LocatedVolume {
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
    `the device of volume "${volumeId}" has ${sizeBytes} bytes and not yet the required ${requiredBytes}; try again once the storage has grown it`,
  );
}

export async function readSizeBytes(number: string, host: Host): Promise<number> {
  const sectors = await host.readText(`/sys/dev/block/${number}/size`);
  if (sectors === undefined) throw unavailableProblem(`device ${number} is missing`);
  return Number(sectors) * 512;
}

/** Describes a device so that it can be recognized later. Kernels without sequence numbers cannot recognize it. */
export async function toConnection(
  { path, number }: Pick<Device, 'path' | 'number'>,
  host: Host,
): Promise<Connection> {
  return { path, number, use: await useOf((await readDiskseq(number, host)) ?? '', host) };
}

/** Reads an identifier of the device that has a number now; the identifier stays unique across reboots. */
async function readUse(number: string, host: Host): Promise<string | undefined> {
  const diskseq = await readDiskseq(number, host);
  return diskseq === undefined ? undefined : useOf(diskseq, host);
}

async function useOf(diskseq: string, host: Host): Promise<string> {
  return `${await readLine('/proc/sys/kernel/random/boot_id', host)} ${diskseq}`;
}

/** Reads a device's sequence number; undefined on kernels before 5.15 and for partitions. */
export async function readDiskseq(number: string, host: Host): Promise<string | undefined> {
  return (await host.readText(`/sys/dev/block/${number}/diskseq`))?.trim();
}
