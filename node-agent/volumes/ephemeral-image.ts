import type { Attachment } from '../../src/api/attachment.ts';
import { Problem } from '../../src/api/problem.ts';
import { describeFailure, runToEnd, runWell } from '../host/commands.ts';
import type { Host } from '../host.ts';
import type { VolumeRecord } from '../state/records.ts';

// The disk below may hang, so that nothing but commands, which have a deadline, touches an image.

const [typeBits, regularFile] = [0o170000, 0o100000];

/** What lies at an image's path, a symbolic link itself and not what it points at. */
export async function kindOfImage(path: string, host: Host): Promise<'nothing' | 'file' | 'other'> {
  const line = { command: 'stat', args: ['--format', '%f', '--', path] };
  const { status, stdout } = await runToEnd(host, line);
  if (status !== 0) return 'nothing';
  return (Number.parseInt(stdout, 16) & typeBits) === regularFile ? 'file' : 'other';
}

/**
 * Makes the image, or goes on with the one that is there, and gives it all of its room at once: a disk that is full
 * shows here as RESOURCE_EXHAUSTED, and never as an I/O error in the pod.
 */
export async function reserveImage(host: Host, record: VolumeRecord): Promise<void> {
  const { attachment } = record;
  const path = imageOf(attachment);
  if ((await seeImage(host, record)) === 'nothing')
    await runWell(host, { command: 'install', args: ['--mode=0640', '--', '/dev/null', path] });
  const line = { command: 'fallocate', args: ['--length', String(attachment.sizeBytes), '--', path] };
  const result = await runToEnd(host, line);
  if (result.status === 0) return;
  const room = { command: 'stat', args: ['--file-system', '--format', '%S %a', '--', path] };
  const [unit = 0, free = 0] = (await runWell(host, room)).stdout.split(' ').map(Number);
  if (unit * free < attachment.sizeBytes)
    throw new Problem(
      'RESOURCE_EXHAUSTED',
      `the disk of ephemeral volumes has ${unit * free} bytes free, less than the ${attachment.sizeBytes} asked for`,
    );
  throw new Problem('UNAVAILABLE', describeFailure(line, result));
}

/** Removes the image; that it is not there is fine. */
export async function removeImage(host: Host, record: VolumeRecord): Promise<void> {
  await seeImage(host, record);
  await runWell(host, { command: 'rm', args: ['--force', '--', imageOf(record.attachment)] });
}

async function seeImage(host: Host, { attachment, volumeId }: VolumeRecord): Promise<'nothing' | 'file'> {
  const path = imageOf(attachment);
  const kind = await kindOfImage(path, host);
  if (kind === 'other')
    throw new Problem(
      'FAILED_PRECONDITION',
      `"${path}" of ephemeral volume "${volumeId}" is no longer a file`,
    );
  return kind;
}

function imageOf(attachment: Attachment): string {
  if (attachment.protocol === 'loop') return attachment.path;
  throw new Error('an ephemeral volume is a file');
}
