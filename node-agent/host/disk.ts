import { Problem } from '../../src/api/problem.ts';
import { poll } from '../../src/lib/concurrency.ts';
import { describeFailure, runToEnd, runWell } from './commands.ts';
import type { Device } from '../connector.ts';
import type { Host } from '../host.ts';
import { deviceNumberOf } from './mount.ts';

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

const waitMs = 5_000;
const lookMs = 100;

/** The disk of a name; undefined when there is none. */
export async function readDisk(name: string, host: Host): Promise<Disk | undefined> {
  const place = `/sys/block/${name}`;
  const [number, sectors, flag] = await Promise.all([
    host.readText(`${place}/dev`),
    host.readText(`${place}/size`),
    host.readText(`${place}/ro`),
  ]);
  if (number === undefined || sectors === undefined) return undefined;
  return { name, number: number.trim(), sizeBytes: Number(sectors) * 512, readonly: flag?.trim() === '1' };
}

/**
 * True when the device at a place in sysfs (`/sys/block/<name>`, `/sys/dev/block/<number>`) is a whole disk that says
 * of itself what is asked for. Links below /dev, which can lag behind or lead elsewhere, have no part in it.
 */
export async function isDisk(place: string, identity: DiskIdentity, host: Host): Promise<boolean> {
  const { wwid, serial } = identity;
  if (isNameless(identity)) return false;
  if ((await host.readText(`${place}/partition`)) !== undefined) return false;
  if (wwid !== undefined && (await readWwid(place, host)) !== wwid.trim()) return false;
  return serial === undefined || (await readSerial(place, host)) === serial.trim();
}

/** The world-wide name of a SCSI or an NVMe disk, as the kernel spells it. */
export async function readWwid(place: string, host: Host): Promise<string | undefined> {
  const text = (await host.readText(`${place}/device/wwid`)) ?? (await host.readText(`${place}/wwid`));
  return text?.trim();
}

/** The serial number of a virtio, SCSI (VPD page 0x80, behind its header of four bytes) or NVMe disk. */
async function readSerial(place: string, host: Host): Promise<string | undefined> {
  if ((await host.kindOf(`${place}/serial`)) !== 'nothing') return readVirtioSerial(place, host);
  const page = await host.readText(`${place}/device/vpd_pg80`);
  if (page !== undefined) return page.slice(4).replaceAll('\0', '').trim();
  return (await host.readText(`${place}/device/serial`))?.trim();
}

/** By the kernel's sequence number of the disk, which no other disk ever has. */
const virtioSerials = new Map<string, string>();
const mostSerials = 1_024;
const serialTimeoutMs = 5_000;

/** Disks that are being asked: whoever asks meanwhile gets the same answer. */
const asked = new Map<string, Promise<string | undefined>>();

/** Disks that a command waits on which could not be killed, so that such commands never pile up. */
const silent = new Set<string>();

/** The kernel asks a virtio disk itself, and waits: done by a command, once for each time that a disk is plugged in. */
async function readVirtioSerial(place: string, host: Host): Promise<string | undefined> {
  const diskseq = await host.readText(`${place}/diskseq`);
  const known = diskseq === undefined ? undefined : virtioSerials.get(diskseq);
  if (known !== undefined) return known;
  const key = diskseq ?? place;
  const answer = asked.get(key) ?? askVirtioSerial(place, diskseq, host).finally(() => asked.delete(key));
  asked.set(key, answer);
  return answer;
}

async function askVirtioSerial(
  place: string,
  diskseq: string | undefined,
  host: Host,
): Promise<string | undefined> {
  if (silent.has(place)) throw new Problem('UNAVAILABLE', `disk "${place}" does not answer`);
  const args = ['--', `${place}/serial`];
  const { status, stdout, timedOut, gone } = await host.run('cat', args, { timeoutMs: serialTimeoutMs });
  if (gone) {
    silent.add(place);
    void gone.then(() => silent.delete(place));
  }
  if (timedOut)
    throw new Problem('DEADLINE_EXCEEDED', `disk "${place}" did not tell its serial number in time`);
  if (status === undefined)
    throw new Problem('UNAVAILABLE', `disk "${place}" could not be asked for its serial number`);
  if (status !== 0) return undefined;
  const serial = stdout.trim();
  if (virtioSerials.size >= mostSerials) virtioSerials.clear();
  if (diskseq !== undefined) virtioSerials.set(diskseq, serial);
  return serial;
}

/** Looks again and again until there is something to see; undefined when there is not within five seconds. */
export function waitFor<T>(look: () => Promise<T | undefined>): Promise<T | undefined> {
  return poll(look, { everyMs: lookMs, timeoutMs: waitMs });
}

/** What a disk must be like, and how it is made to look at its size anew. */
export type Fitting = {
  readonly volume: { readonly sizeBytes: number; readonly readonly: boolean };
  readonly identity: string;
  readonly rescan: () => Promise<void>;
};

/** The disk as a volume's device: as large as the volume, and read-only in the kernel where the volume is. */
export async function fitDisk(
  name: string,
  { volume, identity, rescan }: Fitting,
  host: Host,
): Promise<Device> {
  let disk = await needDisk(name, host);
  if (disk.sizeBytes < volume.sizeBytes) {
    await rescan();
    disk = (await waitFor(() => largeDisk(name, volume.sizeBytes, host))) ?? (await needDisk(name, host));
  }
  if (disk.sizeBytes < volume.sizeBytes)
    throw new Problem(
      'FAILED_PRECONDITION',
      `device "/dev/${name}" has ${disk.sizeBytes} bytes, less than the volume's ${volume.sizeBytes}`,
    );
  if (volume.readonly && !disk.readonly) {
    await runWell(host, { command: 'blockdev', args: ['--setro', `/dev/${name}`] });
    disk = await needDisk(name, host);
  }
  if (disk.readonly !== volume.readonly)
    throw new Problem(
      'FAILED_PRECONDITION',
      `device "/dev/${name}" is ${disk.readonly ? 'read-only' : 'writable'}, and the volume is not`,
    );
  return {
    path: `/dev/${name}`,
    number: disk.number,
    sizeBytes: disk.sizeBytes,
    readonly: disk.readonly,
    identity,
  };
}

async function largeDisk(name: string, sizeBytes: number, host: Host): Promise<Disk | undefined> {
  const disk = await readDisk(name, host);
  return disk && disk.sizeBytes >= sizeBytes ? disk : undefined;
}

async function needDisk(name: string, host: Host): Promise<Disk> {
  const disk = await readDisk(name, host);
  if (!disk) throw new Problem('UNAVAILABLE', `device "/dev/${name}" was there and is gone`);
  return disk;
}

/**
 * What uses a disk or a partition of it, in words: a device above it, a mount, or a filesystem that is mounted where
 * the agent does not see it, such as in another container; undefined when nothing does.
 */
export async function findUser(
  { name, number }: Pick<Disk, 'name' | 'number'>,
  host: Host,
): Promise<string | undefined> {
  const numbers = new Set([number]);
  const parts = await withPartitions(name, host);
  for (const { place } of parts) {
    const [holder] = await host.list(`${place}/holders`);
    if (holder !== undefined) return `device "/dev/${holder}"`;
    const own = await host.readText(`${place}/dev`);
    if (own !== undefined) numbers.add(own.trim());
  }
  for (const mount of await host.mounts())
    if (numbers.has((await deviceNumberOf(mount, host)) ?? '')) return `the mount at "${mount.path}"`;
  for (const part of parts) {
    const filesystem = await findLiving(part.name, host);
    if (filesystem !== undefined) return `${filesystem}, mounted where the agent does not see it`;
  }
  return undefined;
}

/** A disk and its partitions. */
async function withPartitions(name: string, host: Host) {
  const place = `/sys/block/${name}`;
  const partitions = (await host.list(place)).filter(entry => entry.startsWith(name));
  return [{ name, place }, ...partitions.map(part => ({ name: part, place: `${place}/${part}` }))];
}

/** The filesystem on a device that the kernel has open, wherever it is mounted and if only by what still uses it. */
async function findLiving(name: string, host: Host): Promise<string | undefined> {
  for (const type of ['ext4', 'xfs'])
    if ((await host.kindOf(`/sys/fs/${type}/${name}`)) !== 'nothing') return type;
  for (const uuid of await host.list('/sys/fs/btrfs'))
    if ((await host.kindOf(`/sys/fs/btrfs/${uuid}/devices/${name}`)) !== 'nothing') return 'btrfs';
  return undefined;
}

/** Throws UNAVAILABLE when something uses the disk. */
export async function refuseUsedDisk(disk: Pick<Disk, 'name' | 'number'>, host: Host): Promise<void> {
  const user = await findUser(disk, host);
  if (user !== undefined) throw new Problem('UNAVAILABLE', `device "/dev/${disk.name}" is in use by ${user}`);
}

/**
 * Makes a disk ready to go: throws UNAVAILABLE when something uses it, and else has the kernel write what it still
 * holds for it. A disk that is gone or offline, which takes nothing any more, is fine.
 */
export async function settleDisk(disk: Pick<Disk, 'name' | 'number'>, host: Host): Promise<void> {
  await refuseUsedDisk(disk, host);
  const state = await host.readText(`/sys/block/${disk.name}/device/state`);
  if (offline.has(state?.trim() ?? '')) return;
  const names = (await withPartitions(disk.name, host)).map(({ name }) => `/dev/${name}`);
  const line = { command: 'blockdev', args: ['--flushbufs', ...names] };
  const result = await runToEnd(host, line);
  if (result.status !== 0 && (await readDisk(disk.name, host))?.number === disk.number)
    throw new Problem('UNAVAILABLE', describeFailure(line, result));
}

/** States of a SCSI disk in which it cannot even be opened. */
const offline: ReadonlySet<string> = new Set(['offline', 'transport-offline']);

/** Throws INVALID_ARGUMENT for an attachment that says nothing of what its disk must say of itself. */
export function refuseNameless(identity: DiskIdentity): void {
  if (isNameless(identity))
    throw new Problem('INVALID_ARGUMENT', 'the attachment has neither a wwid nor a serial, or a blank one');
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
