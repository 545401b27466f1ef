import type { Attachment } from '../../src/api/attachment.ts';
import { checkFormatOptions, type FormatOptions } from '../../src/api/filesystems.ts';
import { Problem } from '../../src/api/problem.ts';
import { proveBlank } from './prove-blank.ts';
import { describeFailure, runToEnd, runWell } from '../host/commands.ts';
import { isStillConnected } from '../volumes/device.ts';
import type { Device } from '../connector.ts';
import type { Filesystem } from '../filesystem.ts';
import { filesystems } from '../filesystems/index.ts';
import type { Host } from '../host.ts';
import type { FormattingMark } from '../state/records.ts';

/** A device, which filesystem it shall hold, and what is known of it. */
export type FormatTask = {
  readonly host: Host;
  readonly device: Device;
  readonly attachment: Attachment;
  /** The filesystem that was asked for; undefined takes what is there. */
  readonly wanted: Filesystem | undefined;
  /** What a blank device is formatted with when none was asked for. */
  readonly fallback: Filesystem;
  /** How a blank device is formatted; INVALID_ARGUMENT when the filesystem that it gets cannot be made so. */
  readonly options?: FormatOptions | undefined;
  /** The mark of an mkfs that may have been interrupted. */
  readonly mark: FormattingMark | undefined;
  /** Records a mark, or that it is no longer needed; durable on return. */
  readonly setMark: (mark: FormattingMark | undefined) => Promise<void>;
};

/** The filesystem on a device, and what is known of it without a further look. */
export type Found = {
  readonly filesystem: Filesystem;
  /** It was made just now, as large as its device. */
  readonly isNew: boolean;
  readonly uuid?: string | undefined;
  /** Where it ends on its device, in bytes; not every version of blkid tells. */
  readonly endBytes?: number | undefined;
};

/**
 * Finds the filesystem on a device, and makes one only on a device that is proved blank. The mark is on disk before
 * mkfs starts and cleared before anything can be mounted, so that what it allows to be made again never held data.
 */
export async function ensureFilesystem(task: FormatTask): Promise<Found> {
  const { host, device, wanted, fallback, mark, setMark } = task;
  const found = await probe(device, host);
  if (found === undefined) {
    await make(task, wanted ?? fallback);
    await setMark(undefined);
    return { filesystem: wanted ?? fallback, isNew: true };
  }
  const { format, ...facts } = found;
  const filesystem = filesystems.find(({ name }) => name === format);
  if (!filesystem || (wanted && filesystem.name !== wanted.name)) {
    const asked = wanted?.name ?? filesystems.map(({ name }) => name).join(' or ');
    throw new Problem(
      'FAILED_PRECONDITION',
      `device "${device.path}" holds ${format}, but ${asked} was asked for`,
    );
  }
  if (mark) await setMark(undefined);
  return { filesystem, isNew: false, ...facts };
}

type Probed = Pick<Found, 'uuid' | 'endBytes'> & {
  /** A filesystem's name, or another format's. */
  readonly format: string;
};

/** What a device holds by blkid; undefined when blkid sees nothing. */
async function probe(device: Device, host: Host): Promise<Probed | undefined> {
  const line = { command: 'blkid', args: ['-p', '-o', 'export', '--', device.path] };
  const result = await runToEnd(host, line);
  if (result.status === 0) return readProbe(result.stdout);
  // Status 2 is "nothing found" and "could not be read" alike, so that it proves nothing.
  if (result.status === 2) return undefined;
  if (result.status === 8)
    throw new Problem('FAILED_PRECONDITION', `device "${device.path}" holds more than one format at once`);
  throw new Problem('UNAVAILABLE', describeFailure(line, result));
}

function readProbe(output: string): Probed {
  const values = new Map(
    output.split('\n').map(line => {
      const equals = line.indexOf('=');
      return [line.slice(0, equals), line.slice(equals + 1)];
    }),
  );
  const partitions = values.get('PTTYPE');
  const endBytes = Number(values.get('FSLASTBLOCK')) * Number(values.get('FSBLOCKSIZE'));
  return {
    format: values.get('TYPE') ?? (partitions ? `a ${partitions} partition table` : 'an unknown format'),
    uuid: values.get('UUID'),
    endBytes: Number.isSafeInteger(endBytes) ? endBytes : undefined,
  };
}

async function make(task: FormatTask, filesystem: Filesystem): Promise<void> {
  const { host, device, attachment, options = {}, mark, setMark } = task;
  checkFormatOptions(options, filesystem.name);
  requireFormattable(task, filesystem);
  const known = filesystem.features && (await runToEnd(host, filesystem.features));
  const ownMark = {
    attachmentId: attachment.attachmentId,
    identity: device.identity,
    sizeBytes: device.sizeBytes,
  };
  const interrupted = mark !== undefined && isSame(mark, ownMark);
  if (!interrupted) {
    await proveBlank(device, host);
    await setMark(ownMark);
  }
  await requireUnchanged(task);
  await runWell(host, filesystem.make(device.path, options, known && known.stdout + known.stderr));
  await requireUnchanged(task);
}

function requireFormattable({ device, attachment }: FormatTask, { name, minimumBytes }: Filesystem): void {
  if (attachment.readonly || device.readonly)
    throw new Problem('FAILED_PRECONDITION', `device "${device.path}" is read-only and holds no filesystem`);
  if (!attachment.mayFormat)
    throw new Problem(
      'FAILED_PRECONDITION',
      `device "${device.path}" should hold data but no filesystem is found on it; refusing to format it`,
    );
  if (device.sizeBytes < minimumBytes)
    throw new Problem(
      'FAILED_PRECONDITION',
      `device "${device.path}" has ${device.sizeBytes} bytes, less than the ${minimumBytes} that ${name} needs`,
    );
}

function isSame(mark: FormattingMark, other: FormattingMark): boolean {
  return (
    mark.attachmentId === other.attachmentId &&
    mark.identity === other.identity &&
    mark.sizeBytes === other.sizeBytes
  );
}

async function requireUnchanged({ host, device, attachment }: FormatTask): Promise<void> {
  const sectors = await host.readText(`/sys/dev/block/${device.number}/size`);
  const isOwn = await isStillConnected(attachment, device, host);
  if (!isOwn || Number(sectors) * 512 !== device.sizeBytes)
    throw new Problem('UNAVAILABLE', `device "${device.path}" changed while it was being formatted`);
}
