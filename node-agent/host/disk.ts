import { invalidProblem, preconditionProblem, Problem, unavailableProblem } from '../../src/api/problem.ts';
import type { ExecResult } from '../../src/lib/exec.ts';
import type { Device } from '../connector.ts';
import type { Host } from '../host.ts';
import { runWell } from './commands.ts';
import { findUser } from './disk-use.ts';
import { readLine, waitFor } from './sysfs.ts';

/** A whole disk as the kernel shows it. */
export type Disk = {
  /** Its name in /sys/block and below /dev. */
  readonly name: string;
  readonly number: string;
  readonly sizeBytes: number;
  readonly readonly: boolean;
};

/** What a disk must say of itself; each that is given must hold. */
export type DiskIdentity = { readonly wwid?: string | undefined; readonly serial?: string | undefined };

/** The disk of a name; undefined when there is none. */
export async function readDisk(name: string, host: Host): Promise<Disk | undefined> {
  const path = `/sys/block/${name}`;
  const [number, sectors, flag] = await Promise.all(
    ['dev', 'size', 'ro'].map(file => readLine(`${path}/${file}`, host)),
  );
  if (number === undefined || sectors === undefined) return undefined;
  return { name, number, sizeBytes: Number(sectors) * 512, readonly: flag === '1' };
}

/** True when a device in sysfs is a whole disk that says of itself what is asked for; links below /dev have no part in it. */
export async function isDisk(path: string, identity: DiskIdentity, host: Host): Promise<boolean> {
  const { wwid, serial } = identity;
  if (isNameless(identity)) return false;
  if ((await host.readText(`${path}/partition`)) !== undefined) return false;
  if (wwid !== undefined && (await readWwid(path, host)) !== wwid.trim()) return false;
  return serial === undefined || (await readSerial(path, host)) === serial.trim();
}

/** The world-wide name of a SCSI or an NVMe disk, as the kernel spells it. */
export async function readWwid(path: string, host: Host): Promise<string | undefined> {
  return (await readLine(`${path}/device/wwid`, host)) ?? readLine(`${path}/wwid`, host);
}

/** The serial number of a virtio, SCSI (VPD page 0x80, behind its header of four bytes) or NVMe disk. */
async function readSerial(path: string, host: Host): Promise<string | undefined> {
  if ((await host.kindOf(`${path}/serial`)) !== 'nothing') return readVirtioSerial(path, host);
  const page = await host.readText(`${path}/device/vpd_pg80`);
  if (page !== undefined) return page.slice(4).replaceAll('\0', '').trim();
  return readLine(`${path}/device/serial`, host);
}

/** What virtio disks said or are being asked, by the kernel's sequence number of the disk, which no other ever has. */
const virtioSerials = new Map<string, Promise<string | undefined>>();
const mostSerials = 1_024;
const serialTimeoutMs = 5_000;

/** The kernel asks a virtio disk itself, and waits: done by a command, once for each time that a disk is plugged in. */
async function readVirtioSerial(path: string, host: Host): Promise<string | undefined> {
  const diskseq = await host.readText(`${path}/diskseq`);
  const key = diskseq ?? path;
  const known = virtioSerials.get(key);
  if (known) return known;
  if (virtioSerials.size >= mostSerials) virtioSerials.clear();
  const asked = host.run('cat', ['--', `${path}/serial`], { timeoutMs: serialTimeoutMs });
  const answer = asked.then(result => readAnswer(path, result));
  virtioSerials.set(key, answer);
  const settle = async (): Promise<void> => {
    const { status, gone } = await asked;
    // While a command waits on a disk that does not answer, no other is started.
    await gone;
    if (status !== 0 || diskseq === undefined) virtioSerials.delete(key);
  };
  settle().catch(() => virtioSerials.delete(key));
  return answer;
}

function readAnswer(path: string, { status, stdout, timedOut }: ExecResult): string | undefined {
  if (status === 0) return stdout.trim();
  if (timedOut)
    throw new Problem('DEADLINE_EXCEEDED', `disk "${path}" did not report its serial number in time`);
  if (status === undefined)
    throw unavailableProblem(`disk "${path}" could not be asked for its serial number`);
  return undefined;
}

/** What a disk must be like, and how it is made to look at its size anew. */
type Fitting<A> = {
  readonly attachment: A;
  readonly identity: string;
  readonly rescan: (attachment: A, host: Host) => Promise<void>;
};

/** The disk as a volume's device: as large as the volume, and read-only in the kernel where the volume is. */
export async function fitDisk<A extends { readonly sizeBytes: number; readonly readonly: boolean }>(
  name: string,
  { attachment: volume, identity, rescan }: Fitting<A>,
  host: Host,
): Promise<Device> {
  let disk = await requireDisk(name, host);
  if (disk.sizeBytes < volume.sizeBytes) {
    await rescan(volume, host);
    await waitFor(async () => {
      disk = await requireDisk(name, host);
      return disk.sizeBytes >= volume.sizeBytes || undefined;
    });
  }
  if (disk.sizeBytes < volume.sizeBytes)
    throw preconditionProblem(
      `device "/dev/${name}" has ${disk.sizeBytes} bytes, less than the volume's ${volume.sizeBytes}`,
    );
  if (volume.readonly && !disk.readonly) {
    await setReadonly(disk, true, host);
    disk = await requireDisk(name, host);
  }
  if (disk.readonly !== volume.readonly)
    throw preconditionProblem(
      `device "/dev/${name}" is ${disk.readonly ? 'read-only' : 'writable'}, and the volume is not`,
    );
  const { number, sizeBytes, readonly } = disk;
  return { path: `/dev/${name}`, number, sizeBytes, readonly, identity };
}

/** Has the kernel refuse every write to a disk, or none; FAILED_PRECONDITION for one in use, which could lose what is written. */
export async function setReadonly(disk: Disk, isReadonly: boolean, host: Host): Promise<void> {
  const user = await findUser(disk, host);
  if (user !== undefined) throw preconditionProblem(`device "/dev/${disk.name}" is in use by ${user}`);
  const args = [isReadonly ? '--setro' : '--setrw', `/dev/${disk.name}`];
  await runWell(host, { command: 'blockdev', args });
}

async function requireDisk(name: string, host: Host): Promise<Disk> {
  const disk = await readDisk(name, host);
  if (!disk) throw unavailableProblem(`device "/dev/${name}" was removed meanwhile`);
  return disk;
}

/** The one of these disks, or undefined for none; FAILED_PRECONDITION where several say that they are the volume's. */
export function onlyDisk(names: readonly string[], identity: string): string | undefined {
  if (names.length > 1)
    throw preconditionProblem(`more than one disk says that it is "${identity}": ${names.join(', ')}`);
  return names[0];
}

/** Throws INVALID_ARGUMENT for an attachment that says nothing of what its disk must say of itself. */
export function requireIdentity(identity: DiskIdentity): void {
  if (isNameless(identity))
    throw invalidProblem('the attachment has neither a wwid nor a serial, or a blank one');
}

/** A blank name is one, too: it would be that of every disk that says nothing. */
function isNameless({ wwid, serial }: DiskIdentity): boolean {
  const names = [wwid, serial].filter(name => name !== undefined);
  return names.length === 0 || names.some(name => name.trim() === '');
}

/** What a disk says of itself, in one line. */
export function nameOf({ wwid, serial }: DiskIdentity): string {
  return wwid === undefined ? `serial ${serial}` : wwid.trim();
}
