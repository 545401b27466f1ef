import { hasSeveralNames, type Attachment } from '../../src/api/attachment.ts';
import { Problem } from '../../src/api/problem.ts';
import { poll } from '../../src/lib/concurrency.ts';
import type { Mount } from '../../src/lib/linux/mountinfo.ts';
import type { Device, Judgement, Secrets } from '../connector.ts';
import { deviceConnectorFor, shareConnectorFor } from '../connectors/index.ts';
import type { Host } from '../host.ts';
import { deviceNumberOf } from '../host/mount.ts';
import { inPhase } from '../host/phases.ts';
import { holdsDevice, type VolumeRecord } from '../state/records.ts';
import type { Agent } from './agent.ts';
import type { Carrier, Located } from './carrier.ts';

const growth = { everyMs: 100, timeoutMs: 2_000 };

/** What every volume has that is a device, mounted or not. Two volumes on one device would both format, grow and disconnect it. */
export function deviceMembers(
  agent: Agent,
  record: VolumeRecord,
): Pick<Carrier, 'unmountOptions' | 'requireUnshared' | 'disconnect'> {
  const { attachment, volumeId } = record;
  return {
    unmountOptions: deviceConnectorFor(attachment).unmountOptions,
    requireUnshared() {
      const holder = agent.records.holderOfDevice(attachment, volumeId);
      if (holder !== undefined) throw sharedDeviceProblem(volumeId, holder);
    },
    disconnect: () => disconnectDevice(agent, record),
  };
}

/** Connects a volume's device, with the secrets of the call that asks, and notes which use of its device number this is. */
export function connectDevice(
  agent: Agent,
  { attachment }: VolumeRecord,
  secrets: Secrets = {},
): Promise<Device> {
  const { host } = agent;
  return inPhase(agent, 'connect', async () => {
    const device = await deviceConnectorFor(attachment).connect(attachment, host, secrets);
    const diskseq = await readDiskseq(device.number, host);
    return { ...device, ...(diskseq !== undefined && { diskseq }) };
  });
}

/**
 * As `connectDevice`, for a volume that is not staged yet. A device that another volume has under another name is
 * FAILED_PRECONDITION, and then nothing of the volume is recorded.
 */
export async function connectUnshared(agent: Agent, record: VolumeRecord, secrets: Secrets): Promise<Device> {
  const { records } = agent;
  const { volumeId } = record;
  const device = await connectDevice(agent, record, secrets);
  if (records.get(volumeId)?.device?.number === device.number) return device;
  const holder = await findHolder(agent, record, device);
  if (holder === undefined) return device;
  await records.remove(volumeId);
  throw sharedDeviceProblem(volumeId, holder);
}

/** Disconnects a volume's device, unless that is another volume's by now. */
async function disconnectDevice(agent: Agent, record: VolumeRecord): Promise<void> {
  const { host, records } = agent;
  const { attachment, volumeId, isDown } = record;
  if (isDown && (await isHeldByOther(agent, record))) return;
  const others = () => records.othersThan(volumeId);
  await inPhase(agent, 'disconnect', () =>
    deviceConnectorFor(attachment).disconnect(attachment, host, others),
  );
}

/**
 * True when the device is the volume's, and has been without a break since it was connected: another disk that takes
 * the number in between leaves another sequence number behind, even when it is gone again.
 */
export async function isStillConnected(attachment: Attachment, device: Device, host: Host): Promise<boolean> {
  if (!(await isOwnNumber(attachment, device.number, host))) return false;
  return device.diskseq === undefined || (await readDiskseq(device.number, host)) === device.diskseq;
}

/** True when the block device with this number is the volume's now. */
export function isOwnNumber(attachment: Attachment, number: string, host: Host): Promise<boolean> {
  return deviceConnectorFor(attachment).owns(attachment, number, host);
}

/** The number of the volume's device, when the mount shows that, or undefined when it shows anything else. */
export async function findOwnNumber(
  { host }: Agent,
  { attachment }: VolumeRecord,
  mount: Mount,
): Promise<string | undefined> {
  const number = await deviceNumberOf(mount, host);
  return number !== undefined && (await isOwnNumber(attachment, number, host)) ? number : undefined;
}

/** What a mount shows: the volume's device, something else, or a device that is gone, which is a leftover. */
export async function judgeDevice(agent: Agent, record: VolumeRecord, mount: Mount): Promise<Judgement> {
  if ((await findOwnNumber(agent, record, mount)) !== undefined) return 'own';
  const number = await deviceNumberOf(mount, agent.host);
  const isThere = number === undefined || (await isNumberThere(number, agent.host));
  return isThere ? 'foreign' : 'gone';
}

/** True when there is a block device with this number. */
export async function isNumberThere(number: string, host: Host): Promise<boolean> {
  return (await host.readText(`/sys/dev/block/${number}/dev`)) !== undefined;
}

/** A volume's device by its number, which was proved to be the volume's. */
export function locateDevice({ host }: Agent, record: VolumeRecord, number: string): Located {
  const { attachment, volumeId } = record;
  const readBytes = () => readSizeBytes(number, host);
  return {
    readBytes,
    async growDevice(requiredBytes) {
      const before = await readBytes();
      if (requiredBytes > 0 && before >= requiredBytes) return before;
      await deviceConnectorFor(attachment).rescan?.(attachment, host);
      let sizeBytes = before;
      const isLarge = async () => (sizeBytes = await readBytes()) >= requiredBytes || undefined;
      if (await poll(isLarge, growth)) return sizeBytes;
      throw new Problem(
        'UNAVAILABLE',
        `the device of volume "${volumeId}" has ${sizeBytes} bytes and not yet the ${requiredBytes} asked for`,
      );
    },
    growFilesystem: async () => {},
  };
}

/** The size of a block device in bytes, as the kernel sees it now; a device that is missing is UNAVAILABLE. */
export async function readSizeBytes(number: string, host: Host): Promise<number> {
  const sectors = await host.readText(`/sys/dev/block/${number}/size`);
  if (sectors === undefined) throw new Problem('UNAVAILABLE', `device ${number} is gone`);
  return Number(sectors) * 512;
}

/**
 * The other volume whose device this is, too, by what the device says of itself: one of the two names it in another way.
 * A record that is known to be of another device, or of what has one name only, is not compared.
 */
async function findHolder(
  { host, records }: Agent,
  { volumeId, attachment }: VolumeRecord,
  { number }: Device,
): Promise<string | undefined> {
  for (const other of records.all()) {
    if (other.volumeId === volumeId || shareConnectorFor(other.attachment) || !holdsDevice(other)) continue;
    const mayBeOne = other.device === undefined || other.device.number === number;
    if (!mayBeOne || ![attachment, other.attachment].some(hasSeveralNames)) continue;
    if (await isOwnNumber(other.attachment, number, host)) return other.volumeId;
  }
  return undefined;
}

/** True when the device of a volume that is down is another volume's by now, under whatever name. */
async function isHeldByOther(
  { host, records }: Agent,
  { volumeId, attachment }: VolumeRecord,
): Promise<boolean> {
  if (records.holderOfDevice(attachment, volumeId) !== undefined) return true;
  for (const { volumeId: other, device } of records.here())
    if (other !== volumeId && device && (await isOwnNumber(attachment, device.number, host))) return true;
  return false;
}

function sharedDeviceProblem(volumeId: string, holder: string): Problem {
  return new Problem(
    'FAILED_PRECONDITION',
    `the device of volume "${volumeId}" is the one of volume "${holder}", which is staged here`,
  );
}

/** Kernels before 5.15 have none, and neither have partitions. */
async function readDiskseq(number: string, host: Host): Promise<string | undefined> {
  return (await host.readText(`/sys/dev/block/${number}/diskseq`))?.trim();
}
