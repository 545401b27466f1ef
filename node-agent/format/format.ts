import { isDeepStrictEqual } from 'node:util';
import { requireFormatOptions } from '../../src/api/filesystems.ts';
import { preconditionProblem, unavailableProblem } from '../../src/api/problem.ts';
import { proveBlank } from './prove-blank.ts';
import { describeFailure, runToEnd, runWell } from '../host/commands.ts';
import { readSizeBytes, requireStillConnected, type DeviceVolume } from '../volumes/device.ts';
import { readFilesystem } from '../volumes/request-checks.ts';
import type { Device } from '../connector.ts';
import type { Filesystem } from '../filesystem.ts';
import { filesystems, findFilesystem } from '../filesystems/index.ts';
import type { Host } from '../host.ts';

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
 * Finds the filesystem on a volume's device, which may be being probed already, and makes one only on a device that is proved blank. The mark is on disk before
 * mkfs starts and cleared before anything can be mounted, so that what it allows to be made again never held data.
 */
export async function ensureFilesystem(
  volume: DeviceVolume,
  device: Device,
  probing: Promise<Probed> = probe(device, volume.agent.host),
): Promise<Found> {
  const { agent, record } = volume;
  const wanted = readFilesystem(record.capability);
  const found = await probing;
  if (found === undefined) {
    const filesystem = wanted ?? agent.defaultFilesystem;
    await make(volume, device, filesystem);
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
export async function probe(device: Device, host: Host) {
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

async function make(volume: DeviceVolume, device: Device, filesystem: Filesystem): Promise<void> {
  const { agent, record } = volume;
  const { host, records } = agent;
  const { attachment, formatOptions = {}, formatting } = record;
  requireFormatOptions(formatOptions, filesystem.name);
  requireFormattable(volume, device, filesystem);
  const known = filesystem.features && (await runToEnd(host, filesystem.features));
  const { identity, sizeBytes } = device;
  const mark = { attachmentId: attachment.attachmentId, identity, sizeBytes };
  // What an own mkfs left that was interrupted is made again.
  if (!isDeepStrictEqual(formatting, mark)) {
    await proveBlank(device, host);
    await records.put({ ...record, formatting: mark });
  }
  await requireUnchanged(volume, device);
  await runWell(host, filesystem.make(device.path, formatOptions, known && known.stdout + known.stderr));
  await requireUnchanged(volume, device);
}

function requireFormattable({ record }: DeviceVolume, device: Device, filesystem: Filesystem): void {
  const { attachment } = record;
  if (attachment.readonly || device.readonly)
    throw preconditionProblem(`device "${device.path}" is read-only and holds no filesystem`);
  if (!attachment.mayFormat)
    throw preconditionProblem(
      `device "${device.path}" should hold data but no filesystem is found on it; refusing to format it`,
    );
  const { name, minimumBytes } = filesystem;
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
