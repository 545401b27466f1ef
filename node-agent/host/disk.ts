import { invalidProblem, preconditionProblem, Problem, unavailableProblem } from '../../src/api/problem.ts';
import type { ExecResult } from '../../src/lib/exec.ts';
import type { Device } from '../connector.ts';
import type { Host } from '../host.ts';
import { runWell } from './commands.ts';
import { findUser } from './disk-use.ts';
import { readLine, waitFor } from './sysfs.ts';

/** A whole disk as the kernel shows it. */
export type Disk = {
  /** The name in /sys/block and below /dev. */
  readonly name: string;
  readonly number: string;
  readonly sizeBytes: number;
  readonly readonly: boolean;
};

/** The identity that a disk must report; all given members must match. */
export type DiskIdentity = { readonly wwid?: string | undefined; readonly serial?: string | undefined };

export async function readDisk(name: string, host: Host): Promise<Disk | undefined> {
  const path = `/sys/block/${name}`;
  const [number, sectors, flag] = await Promise.all(
    ['dev', 'size', 'ro'].map(file => readLine(`${path}/${file}`, host)),
  );
  if (number === undefined || sectors === undefined) return undefined;
  return { name, number, sizeBytes: Number(sectors) * 512, readonly: flag === '1' };
}

/** True if a device in sysfs is a whole disk with this identity. Links below /dev, which can be wrong, are not used. */
export async function isDisk(path: string, identity: DiskIdentity, host: Host): Promise<boolean> {
  const { wwid, serial } = identity;
  if (isNameless(identity)) return false;
  if ((await host.readText(`${path}/partition`)) !== undefined) return false;
  if (wwid !== undefined && (await readWwid(path, host)) !== wwid.trim()) return false;
  return serial === undefined || (await readSerial(path, host)) === serial.trim();
}

/** Reads the world-wide name of a SCSI or NVMe disk in the kernel's spelling. */
export async function readWwid(path: string, host: Host): Promise<string | undefined> {
  return (await readLine(`${path}/device/wwid`, host)) ?? readLine(`${path}/wwid`, host);
}

/** Reads the serial number of a virtio, SCSI (VPD page 0x80, after a header of four bytes) or NVMe disk. */
async function readSerial(path: string, host: Host): Promise<string | undefined> {
  if ((await host.kindOf(`${path}/serial`)) !== 'nothing') return readVirtioSerial(path, host);
  const page = await host.readText(`${path}/device/vpd_pg80`);
  if (page !== undefined) return page.slice(4).replaceAll('\0', '').trim();
  return readLine(`${path}/device/serial`, host);
}

/** Serial numbers of virtio disks, or pending reads of them, by the disk's unique sequence number. */
const virtioSerials = new Map<string, Promise<string | undefined>>();
const maxSerials = 1_024;
const serialTimeoutMs = 5_000;

/** Reads a virtio disk's serial number with a command, since the kernel blocks on the disk; once per plugged-in disk. */
async function readVirtioSerial(path: string, host: Host): Promise<string | undefined> {
  const diskseq = await host.readText(`${path}/diskseq`);
  const key = diskseq ?? path;
  const known = virtioSerials.get(key);
  if (known) return known;
  if (virtioSerials.size >= maxSerials) virtioSerials.clear();
  const command = host.run('cat', ['--', `${path}/serial`], { timeoutMs: serialTimeoutMs });
  const answer = command.then(result => readAnswer(path, result));
  virtioSerials.set(key, answer);
  const settle = async (): Promise<void> => {
    const { status, gone } = await command;
    // While a command is blocked on a disk, no second one is started.
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
    throw unavailableProblem(`the serial number of disk "${path}" could not be read; try again`);
  return undefined;
}

/** The requirements on a disk, and the function that makes the kernel read its size again. */
type DiskRequirements<A> = {
  readonly attachment: A;
  readonly identity: string;
  readonly rescan: (attachment: A, host: Host) => Promise<void>;
};

/**
 * Returns the disk as a volume's device, at least as large as the volume, and read-only in the kernel if the volume is.
 * FAILED_PRECONDITION if the disk stays too small or writable.
 */
export async function fitDisk<A extends { readonly sizeBytes: number; readonly readonly: boolean }>(
  name: string,
  { attachment: volume, identity, rescan }: DiskRequirements<A>,
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
      `device "/dev/${name}" is ${disk.readonly ? 'read-only' : 'writable'}, but the volume is ${disk.readonly ? 'writable' : 'read-only'}`,
    );
  const { number, sizeBytes, readonly } = disk;
  return { path: `/dev/${name}`, number, sizeBytes, readonly, identity };
}

/** Sets or clears the kernel's read-only flag of a disk; FAILED_PRECONDITION for a disk in use, since writes could be lost. */
async function setReadonly(disk: Disk, isReadonly: boolean, host: Host): Promise<void> {
  const user = await findUser(disk, host);
  if (user !== undefined) throw preconditionProblem(`device "/dev/${disk.name}" is in use by ${user}`);
  const args = [isReadonly ? '--setro' : '--setrw', `/dev/${disk.name}`];
  await runWell(host, { command: 'blockdev', args });
}

/** Clears the kernel's read-only flag of a disk if it is set; FAILED_PRECONDITION for a read-only disk in use. */
export async function allowWrites(name: string, host: Host): Promise<void> {
  const disk = await readDisk(name, host);
  if (disk?.readonly) await setReadonly(disk, false, host);
}

async function requireDisk(name: string, host: Host): Promise<Disk> {
  const disk = await readDisk(name, host);
  if (!disk) throw unavailableProblem(`device "/dev/${name}" was removed during the call; try again`);
  return disk;
}

/** Returns the only disk, or undefined for an empty list; FAILED_PRECONDITION for several disks with one identity. */
export function onlyDisk(names: readonly string[], identity: string): string | undefined {
  if (names.length > 1)
    throw preconditionProblem(
      `more than one disk reports "${identity}": ${names.join(', ')}; unplug those that are not the volume`,
    );
  return names[0];
}

/** INVALID_ARGUMENT for an attachment without the identity of its disk. */
export function requireIdentity(identity: DiskIdentity): void {
  if (isNameless(identity))
    throw invalidProblem('the attachment needs a wwid or a serial, and neither may be blank');
}

/** True without any name, or with a blank one, which would match all disks that report nothing. */
function isNameless({ wwid, serial }: DiskIdentity): boolean {
  const names = [wwid, serial].filter(name => name !== undefined);
  return names.length === 0 || names.some(name => name.trim() === '');
}

export function nameOf({ wwid, serial }: DiskIdentity): string {
  return wwid === undefined ? `serial ${serial}` : wwid.trim();
}
