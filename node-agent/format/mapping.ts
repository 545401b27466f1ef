import { hash } from 'node:crypto';
import type { Attachment } from '../../src/api/attachment.ts';
import { unavailableProblem } from '../../src/api/problem.ts';
import { describeFailure, runIfInstalled, runToEnd, runWell } from '../host/commands.ts';
import { readDisk } from '../host/disk.ts';
import type { Host } from '../host.ts';
import { readLine } from '../host/sysfs.ts';

/** The device-mapper device that decrypts a volume. */
type Mapping = {
  /** The name in /sys/block and below /dev. */
  readonly name: string;
  /** The number of the encrypted device below; undefined if the mapping is incomplete or that device is gone. */
  readonly below: string | undefined;
};

/** The start of a mapping's name, and of the UUID that cryptsetup gives it. */
const [namePrefix, uuidPrefix] = ['fairlead-', 'CRYPT-LUKS2-'] as const;

/** Returns the mapping's name below /dev/mapper, which is unique to the attachment. */
export function mappedNameOf({ attachmentId }: Pick<Attachment, 'attachmentId'>): string {
  return `${namePrefix}${hash('sha256', attachmentId).slice(0, 32)}`;
}

/** Finds the mapping of an attachment; a device of that name that is not a LUKS mapping does not count. */
export async function findMapping(attachment: Attachment, host: Host): Promise<Mapping | undefined> {
  for (const name of await host.list('/sys/block')) {
    const below = name.startsWith('dm-') && (await readBelow(`/sys/block/${name}`, attachment, host));
    if (below) return { name, below: below.number };
  }
  return undefined;
}

/** Returns the disk that decrypts the device with this number for the attachment; undefined if there is none. */
export async function findDecrypted(attachment: Attachment, number: string, host: Host) {
  const mapping = await findMapping(attachment, host);
  return mapping?.below === number ? readDisk(mapping.name, host) : undefined;
}

/** Returns the device below the block device with this number if that is the attachment's mapping; undefined otherwise. */
export function findBelow(attachment: Attachment, number: string, host: Host) {
  return readBelow(`/sys/dev/block/${number}`, attachment, host);
}

async function readBelow(path: string, attachment: Attachment, host: Host) {
  if ((await readLine(`${path}/dm/name`, host)) !== mappedNameOf(attachment)) return undefined;
  if (!(await readLine(`${path}/dm/uuid`, host))?.startsWith(uuidPrefix)) return undefined;
  const [slave, ...others] = await host.list(`${path}/slaves`);
  const isOne = slave !== undefined && others.length === 0;
  return { number: isOne ? await readLine(`${path}/slaves/${slave}/dev`, host) : undefined };
}

/** Grows the mapping to its device. Safe to run again. */
export async function growMapping(attachment: Attachment, host: Host): Promise<void> {
  await runWell(host, { command: 'cryptsetup', args: ['resize', '--', mappedNameOf(attachment)] });
}

/** Makes all requests to the mapping fail from now on, without writing data in memory. If there is none, nothing happens. */
export async function cutOffMapping(attachment: Attachment, host: Host): Promise<void> {
  if (!(await findMapping(attachment, host))) return;
  const args = ['wipe_table', '--noflush', '--nolockfs', '--', mappedNameOf(attachment)];
  await runWell(host, { command: 'dmsetup', args });
}

/**
 * Removes the mapping; UNAVAILABLE if it is in use. If there is none, nothing happens. Uses dmsetup, since cryptsetup does not
 * recognize an incomplete mapping that a crash left.
 */
export async function closeMapping(attachment: Attachment, host: Host): Promise<void> {
  const name = mappedNameOf(attachment);
  if (!(await findMapping(attachment, host)) && !(await isHalfMade(name, host))) return;
  const line = { command: 'dmsetup', args: ['remove', '--retry', '--', name] };
  const result = await runToEnd(host, line);
  if (result.status !== 0 && (await findMapping(attachment, host)))
    throw unavailableProblem(describeFailure(line, result));
}

/** True for an incomplete mapping: since Linux 5.16 sysfs does not show a mapping without a table. */
async function isHalfMade(name: string, host: Host): Promise<boolean> {
  const args = ['info', '--columns', '--noheadings', '--options', 'uuid', '--', name];
  const result = await runIfInstalled(host, { command: 'dmsetup', args });
  return result?.status === 0 && result.stdout.startsWith(uuidPrefix);
}
