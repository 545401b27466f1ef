import { isDeepStrictEqual } from 'node:util';
import { requireFormatOptions } from '../../src/api/filesystems.ts';
import { candidatesOf } from '../../src/api/filesystems/candidates.ts';
import { minimumBytesOf } from '../../src/api/filesystems/sizes.ts';
import { preconditionProblem, unavailableProblem } from '../../src/api/problem.ts';
import { proveBlank } from './prove-blank.ts';
import { describeFailure, runToEnd, runWell } from '../host/commands.ts';
import { readSizeBytes, requireStillConnected, type DeviceVolume } from '../volumes/device.ts';
import { readFilesystem } from '../volumes/request-checks.ts';
import type { Device } from '../connector.ts';
import type { Filesystem } from '../filesystem.ts';
import { filesystems, filesystemsByName, findFilesystem } from '../filesystems/index.ts';
import type { CommandLine, Host } from '../host.ts';
import type { FormattingMark, VolumeRecord } from '../state/records.ts';

/** A volume's device for its filesystem or pod, above any encryption. */
export type OpenedDevice = {
  readonly device: Device;
  /** True if this call encrypted the device, which is then blank although it reads as noise. */
  readonly isNew: boolean;
  /** A probe of its content that has already been started. */
  readonly probing?: Promise<ProbeResult> | undefined;
};

export type FoundFilesystem = {
  readonly filesystem: Filesystem;
  /** True if this call made the filesystem, as large as its device. */
  readonly isNew: boolean;
  readonly uuid?: string | undefined;
  /** The filesystem's end on its device, in bytes; not all versions of blkid tell it. */
  readonly endBytes?: number | undefined;
};

export type ProbeResult = Awaited<ReturnType<typeof probe>>;

/**
 * Finds the filesystem on a volume's device, and makes one only if the device is proved blank. The mark is on disk before
 * mkfs starts and cleared before anything can be mounted, so a device with the mark never held data.
 */
export async function ensureFilesystem(volume: DeviceVolume, opened: OpenedDevice): Promise<FoundFilesystem> {
  const { agent, record } = volume;
  const { device, isNew } = opened;
  const wanted = readFilesystem(record.capability);
  const found = isNew ? undefined : await (opened.probing ?? probe(device, agent.host));
  if (found === undefined) {
    const filesystem = wanted ?? chooseFilesystem(volume, device);
    requireMakeable(record, filesystem);
    await make(volume, opened, filesystem);
    await agent.records.put({ ...record, formatting: undefined });
    return { filesystem, isNew: true };
  }
  const { format, ...facts } = found;
  const filesystem = findFilesystem(format);
  if (!filesystem || (wanted && filesystem.name !== wanted.name)) {
    const names = wanted?.name ?? filesystems.map(({ name }) => name).join(' or ');
    throw preconditionProblem(`device "${device.path}" holds ${format}, but ${names} was requested`);
  }
  if (record.formatting) await agent.records.put({ ...record, formatting: undefined });
  return { filesystem, isNew: false, ...facts };
}

/** Returns the default filesystem if it can be made with these options and size, otherwise the first one that can. */
function chooseFilesystem({ agent, record }: DeviceVolume, { sizeBytes }: Device): Filesystem {
  const { formatOptions = {}, capability } = record;
  const fitting = candidatesOf({ ...capability, formatOptions }).filter(
    name => sizeBytes >= minimumBytesOf(name, formatOptions),
  );
  const { defaultFilesystem } = agent;
  const [first] = fitting;
  const isDefault = first === undefined || fitting.includes(defaultFilesystem.name);
  return isDefault ? defaultFilesystem : filesystemsByName[first];
}

/** FAILED_PRECONDITION for an older name such as ext3: nodes mount such a filesystem but do not make one. */
function requireMakeable({ capability: { fsType } }: VolumeRecord, { name }: Filesystem): void {
  if (fsType !== undefined && fsType !== name)
    throw preconditionProblem(`the device is blank, and nodes do not make ${fsType}: use ${name}`);
}

/** Returns the format on a device by blkid, a filesystem or another one; undefined if blkid sees none. */
export async function probe(device: Pick<Device, 'path'>, host: Host) {
  const line = { command: 'blkid', args: ['-p', '-o', 'export', '--', device.path] };
  const result = await runToEnd(host, line);
  if (result.status === 0) return readProbe(result.stdout);
  // Status 2 means "nothing found" or "could not be read", so it does not prove that the device is blank.
  if (result.status === 2) return undefined;
  if (result.status === 8)
    throw preconditionProblem(
      `device "${device.path}" holds more than one format; wipe the wrong one with wipefs`,
    );
  throw unavailableProblem(describeFailure(line, result));
}

function readProbe(output: string) {
  const values = new Map([...output.matchAll(/^(\w+)=(.*)$/gm)].map(([, name, value]) => [name, value]));
  const partitions = values.get('PTTYPE');
  const endBytes = Number(values.get('FSLASTBLOCK')) * Number(values.get('FSBLOCKSIZE'));
  return {
    format: values.get('TYPE') ?? (partitions ? `a ${partitions} partition table` : 'an unknown format'),
    uuid: values.get('UUID'),
    endBytes: Number.isSafeInteger(endBytes) ? endBytes : undefined,
  };
}

async function make(volume: DeviceVolume, opened: OpenedDevice, filesystem: Filesystem): Promise<void> {
  const { agent, record } = volume;
  const { formatOptions = {} } = record;
  requireFormatOptions(formatOptions, filesystem.name);
  const { name } = filesystem;
  requireFormattable(volume, opened.device, { name, minimumBytes: minimumBytesOf(name, formatOptions) });
  const known = filesystem.features && (await runToEnd(agent.host, filesystem.features));
  const line = filesystem.make(opened.device, formatOptions, known && known.stdout + known.stderr);
  await writeFormat(volume, opened, line);
}

/** Runs a command that writes a format to a device that is proved blank or has the mark of an interrupted format. */
export async function writeFormat(
  volume: DeviceVolume,
  { device, isNew }: OpenedDevice,
  line: CommandLine,
): Promise<void> {
  const { agent, record, connector } = volume;
  const mark = markOf(record, device);
  if (!isNew && !isDeepStrictEqual(record.formatting, mark)) {
    if (!(await connector.isUnwritten?.(record.attachment, device, agent.host)))
      await proveBlank(device, agent.host);
    await agent.records.put({ ...record, formatting: mark });
  }
  await requireUnchanged(volume, device);
  await runWell(agent.host, line);
  await requireUnchanged(volume, device);
}

export function markOf({ attachment }: VolumeRecord, { identity, sizeBytes }: Device): FormattingMark {
  return { attachmentId: attachment.attachmentId, identity, sizeBytes };
}

/** FAILED_PRECONDITION for a device that must not be written or is too small for the format. */
export function requireFormattable(
  { record }: DeviceVolume,
  device: Device,
  { name, minimumBytes }: { readonly name: string; readonly minimumBytes: number },
): void {
  const { attachment } = record;
  if (attachment.readonly || device.readonly)
    throw preconditionProblem(
      `device "${device.path}" is read-only and holds no filesystem; stage the volume for writing once`,
    );
  if (!attachment.mayFormat)
    throw preconditionProblem(
      `device "${device.path}" should hold data, but no filesystem was found on it; refusing to format it`,
    );
  if (device.sizeBytes < minimumBytes)
    throw preconditionProblem(
      `device "${device.path}" has ${device.sizeBytes} bytes, less than the ${minimumBytes} that ${name} needs`,
    );
}

async function requireUnchanged(volume: DeviceVolume, device: Device): Promise<void> {
  await requireStillConnected(volume, device);
  if ((await readSizeBytes(device.number, volume.agent.host)) !== device.sizeBytes)
    throw unavailableProblem(`device "${device.path}" changed its size while it was being formatted`);
}
