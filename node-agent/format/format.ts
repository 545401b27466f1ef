import { isDeepStrictEqual } from 'node:util';
import { requireFormatOptions } from '../../src/api/filesystems.ts';
import { preconditionProblem, unavailableProblem } from '../../src/api/problem.ts';
import { proveBlank } from './prove-blank.ts';
import { describeFailure, runToEnd, runWell } from '../host/commands.ts';
import { readSizeBytes, requireStillConnected, type DeviceVolume } from '../volumes/device.ts';
import { readFilesystem } from '../volumes/request-checks.ts';
import type { Device } from '../connector.ts';
import type { CommandLine, Filesystem } from '../filesystem.ts';
import { filesystems, findFilesystem } from '../filesystems/index.ts';
import type { Host } from '../host.ts';
import type { FormattingMark, VolumeRecord } from '../state/records.ts';

/** A volume's device as it is used: decrypted where the volume is encrypted. */
export type Opened = {
  readonly device: Device;
  /** It was encrypted just now, so that there is nothing on it, though it reads as noise and not as zeros. */
  readonly isNew: boolean;
  /** What is on it, where that is being found out already. */
  readonly probing?: Promise<Probed> | undefined;
};

/** The filesystem on a device, and what is known of it without a further look. */
export type Found = {
  readonly filesystem: Filesystem;
  /** It was made just now, as large as its device. */
  readonly isNew: boolean;
  readonly uuid?: string | undefined;
  /** Where it ends on its device, in bytes; not every version of blkid says. */
  readonly endBytes?: number | undefined;
};

/** What `probe` saw on a device. */
export type Probed = Awaited<ReturnType<typeof probe>>;

/**
 * Finds the filesystem on a volume's device, and makes one only on a device that is proved blank. The mark is on disk before
 * mkfs starts and cleared before anything can be mounted, so that what it allows to be made again never held data.
 */
export async function ensureFilesystem(volume: DeviceVolume, opened: Opened): Promise<Found> {
  const { agent, record } = volume;
  const { device, isNew } = opened;
  const wanted = readFilesystem(record.capability);
  const found = isNew ? undefined : await (opened.probing ?? probe(device, agent.host));
  if (found === undefined) {
    const filesystem = wanted ?? agent.defaultFilesystem;
    await make(volume, opened, filesystem);
    await agent.records.put({ ...record, formatting: undefined });
    return { filesystem, isNew: true };
  }
  const { format, ...facts } = found;
  const filesystem = findFilesystem(format);
  if (!filesystem || (wanted && filesystem.name !== wanted.name)) {
    const asked = wanted?.name ?? filesystems.map(({ name }) => name).join(' or ');
    throw preconditionProblem(`device "${device.path}" holds ${format}, but ${asked} was asked for`);
  }
  if (record.formatting) await agent.records.put({ ...record, formatting: undefined });
  return { filesystem, isNew: false, ...facts };
}

/** What a device holds by blkid, a filesystem or another format by its name; undefined when blkid sees nothing. */
export async function probe(device: Pick<Device, 'path'>, host: Host) {
  const line = { command: 'blkid', args: ['-p', '-o', 'export', '--', device.path] };
  const result = await runToEnd(host, line);
  if (result.status === 0) return readProbe(result.stdout);
  // Status 2 is "nothing found" and "could not be read" alike, so that it proves nothing.
  if (result.status === 2) return undefined;
  if (result.status === 8)
    throw preconditionProblem(`device "${device.path}" holds more than one format at once`);
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

async function make(volume: DeviceVolume, opened: Opened, filesystem: Filesystem): Promise<void> {
  const { agent, record } = volume;
  const { formatOptions = {} } = record;
  requireFormatOptions(formatOptions, filesystem.name);
  requireFormattable(volume, opened.device, filesystem);
  const known = filesystem.features && (await runToEnd(agent.host, filesystem.features));
  const { path } = opened.device;
  await writeFormat(
    volume,
    opened,
    filesystem.make(path, formatOptions, known && known.stdout + known.stderr),
  );
}

/** Has a command write a format to a device that is proved blank, or that has what an own one left that was interrupted. */
export async function writeFormat(
  volume: DeviceVolume,
  { device, isNew }: Opened,
  line: CommandLine,
): Promise<void> {
  const { agent, record } = volume;
  const mark = markOf(record, device);
  if (!isNew && !isDeepStrictEqual(record.formatting, mark)) {
    await proveBlank(device, agent.host);
    await agent.records.put({ ...record, formatting: mark });
  }
  await requireUnchanged(volume, device);
  await runWell(agent.host, line);
  await requireUnchanged(volume, device);
}

/** What is recorded before a volume's device is written. */
export function markOf({ attachment }: VolumeRecord, { identity, sizeBytes }: Device): FormattingMark {
  return { attachmentId: attachment.attachmentId, identity, sizeBytes };
}

/** FAILED_PRECONDITION for a device that may not be written, or is too small for what is to be made on it. */
export function requireFormattable(
  { record }: DeviceVolume,
  device: Device,
  { name, minimumBytes }: { readonly name: string; readonly minimumBytes: number },
): void {
  const { attachment } = record;
  if (attachment.readonly || device.readonly)
    throw preconditionProblem(`device "${device.path}" is read-only and holds no filesystem`);
  if (!attachment.mayFormat)
    throw preconditionProblem(
      `device "${device.path}" should hold data but no filesystem is found on it; refusing to format it`,
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
