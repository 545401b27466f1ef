import type { Attachment } from '../../src/api/attachment.ts';
import { requireFormatOptions } from '../../src/api/filesystems.ts';
import { Problem } from '../../src/api/problem.ts';
import { proveBlank } from './prove-blank.ts';
import { describeFailure, runToEnd, runWell } from '../host/commands.ts';
import { isStillConnected } from '../volumes/device.ts';
import { readFilesystem } from '../volumes/request-checks.ts';
import type { Device } from '../connector.ts';
import type { Filesystem } from '../filesystem.ts';
import { filesystems, findFilesystem } from '../filesystems/index.ts';
import type { Host } from '../host.ts';
import type { FormattingMark, VolumeRecord } from '../state/records.ts';
import type { Agent } from '../volumes/agent.ts';

/** What it takes to make filesystems: the machine, the records that its marks go to, and what is made where nothing is asked for. */
export type Formatting = Pick<Agent, 'host' | 'defaultFilesystem'> & {
  readonly records: Pick<Agent['records'], 'put'>;
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
 * Finds the filesystem on a volume's device, and makes one only on a device that is proved blank. The mark is on disk before
 * mkfs starts and cleared before anything can be mounted, so that what it allows to be made again never held data.
 */
export async function ensureFilesystem(
  agent: Formatting,
  record: VolumeRecord,
  device: Device,
): Promise<Found> {
  const wanted = readFilesystem(record.capability);
  const found = await probe(device, agent.host);
  if (found === undefined) {
    const filesystem = wanted ?? agent.defaultFilesystem;
    await make(agent, { record, device, filesystem });
    await agent.records.put({ ...record, formatting: undefined });
    return { filesystem, isNew: true };
  }
  const { format, ...facts } = found;
  const filesystem = findFilesystem(format);
  if (!filesystem || (wanted && filesystem.name !== wanted.name)) {
    const asked = wanted?.name ?? filesystems.map(({ name }) => name).join(' or ');
    throw new Problem(
      'FAILED_PRECONDITION',
      `device "${device.path}" holds ${format}, but ${asked} was asked for`,
    );
  }
  if (record.formatting) await agent.records.put({ ...record, formatting: undefined });
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

type Making = {
  readonly record: VolumeRecord;
  readonly device: Device;
  readonly filesystem: Filesystem;
};

async function make({ host, records }: Formatting, making: Making): Promise<void> {
  const { record, device, filesystem } = making;
  const { attachment, formatOptions = {}, formatting } = record;
  requireFormatOptions(formatOptions, filesystem.name);
  requireFormattable(making);
  const known = filesystem.features && (await runToEnd(host, filesystem.features));
  const mark = {
    attachmentId: attachment.attachmentId,
    identity: device.identity,
    sizeBytes: device.sizeBytes,
  };
  const isInterrupted = formatting !== undefined && isSame(formatting, mark);
  if (!isInterrupted) {
    await proveBlank(device, host);
    await records.put({ ...record, formatting: mark });
  }
  await requireUnchanged(attachment, device, host);
  await runWell(host, filesystem.make(device.path, formatOptions, known && known.stdout + known.stderr));
  await requireUnchanged(attachment, device, host);
}

function requireFormattable({ device, record: { attachment }, filesystem }: Making): void {
  if (attachment.readonly || device.readonly)
    throw new Problem('FAILED_PRECONDITION', `device "${device.path}" is read-only and holds no filesystem`);
  if (!attachment.mayFormat)
    throw new Problem(
      'FAILED_PRECONDITION',
      `device "${device.path}" should hold data but no filesystem is found on it; refusing to format it`,
    );
  const { name, minimumBytes } = filesystem;
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

async function requireUnchanged(attachment: Attachment, device: Device, host: Host): Promise<void> {
  const sectors = await host.readText(`/sys/dev/block/${device.number}/size`);
  const isOwn = await isStillConnected(attachment, device, host);
  if (!isOwn || Number(sectors) * 512 !== device.sizeBytes)
    throw new Problem('UNAVAILABLE', `device "${device.path}" changed while it was being formatted`);
}
