import { hash } from 'node:crypto';
import type { Attachment } from '../../src/api/attachment.ts';
import { unavailableProblem } from '../../src/api/problem.ts';
import { describeFailure, runIfInstalled, runToEnd, runWell } from '../host/commands.ts';
import type { Host } from '../host.ts';
import { readLine } from '../host/sysfs.ts';

/** The device by which an encrypted volume is used, as the kernel's device-mapper shows it. */
type Mapping = {
  /** Its name in /sys/block and below /dev. */
  readonly name: string;
  /** The number of the one device that it decrypts; undefined where it was half made, or that device is gone. */
  readonly below: string | undefined;
};

/** What its name begins with, and what cryptsetup has its UUID begin with. */
const [prefix, kind] = ['fairlead-', 'CRYPT-LUKS2-'] as const;

/** The name below /dev/mapper of what decrypts a volume: no two attachments have the same. */
export function mappedNameOf({ attachmentId }: Pick<Attachment, 'attachmentId'>): string {
  return `${prefix}${hash('sha256', attachmentId).slice(0, 32)}`;
}

/** The mapping of an attachment; undefined when there is none. Another's of that name is none. */
export async function findMapping(attachment: Attachment, host: Host): Promise<Mapping | undefined> {
  for (const name of await host.list('/sys/block')) {
    const below = name.startsWith('dm-') && (await readBelow(`/sys/block/${name}`, attachment, host));
    if (below) return { name, below: below.number };
  }
  return undefined;
}

/** What the block device with this number decrypts, when it is the attachment's mapping; undefined for any other. */
export function findBelow(attachment: Attachment, number: string, host: Host) {
  return readBelow(`/sys/dev/block/${number}`, attachment, host);
}

async function readBelow(path: string, attachment: Attachment, host: Host) {
  if ((await readLine(`${path}/dm/name`, host)) !== mappedNameOf(attachment)) return undefined;
  if (!(await readLine(`${path}/dm/uuid`, host))?.startsWith(kind)) return undefined;
  const [slave, ...others] = await host.list(`${path}/slaves`);
  const isOne = slave !== undefined && others.length === 0;
  return { number: isOne ? await readLine(`${path}/slaves/${slave}/dev`, host) : undefined };
}

/** Has the mapping be as large as its device allows; run again it changes nothing. */
export async function growMapping(attachment: Attachment, host: Host): Promise<void> {
  await runWell(host, { command: 'cryptsetup', args: ['resize', '--', mappedNameOf(attachment)] });
}

/**
 * Takes the mapping away; none there is fine, one in use is UNAVAILABLE. It is not cryptsetup that does this: what a crash left
 * half made it does not know.
 */
export async function closeMapping(attachment: Attachment, host: Host): Promise<void> {
  const name = mappedNameOf(attachment);
  if (!(await findMapping(attachment, host)) && !(await isHalfMade(name, host))) return;
  const line = { command: 'dmsetup', args: ['remove', '--retry', '--', name] };
  const result = await runToEnd(host, line);
  if (result.status !== 0 && (await findMapping(attachment, host)))
    throw unavailableProblem(describeFailure(line, result));
}

/** True for one that sysfs does not show, as it does none without a table since Linux 5.16. */
async function isHalfMade(name: string, host: Host): Promise<boolean> {
  const args = ['info', '--columns', '--noheadings', '--options', 'uuid', '--', name];
  const result = await runIfInstalled(host, { command: 'dmsetup', args });
  return result?.status === 0 && result.stdout.startsWith(kind);
}
