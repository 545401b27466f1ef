import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { exec } from '../../src/lib/exec.ts';
import { ignore, shareRuns } from './files.ts';
import { deviceNumber, readSysfs } from './kernel/sysfs.ts';

/** Lists this machine's loop devices that can write to the file. */
export async function writableLoopDevicesOf(path: string): Promise<readonly string[]> {
  const devices = await loopDevicesOf(path);
  return devices.filter(device => readSysfs(`${sysfs}/${device}/ro`) !== '1');
}

/** Lists this machine's loop devices that have the file open, by name, including a file that was deleted meanwhile. */
export async function loopDevicesOf(path: string): Promise<readonly string[]> {
  const devices = await shareList();
  if (devices.length === 0) return [];
  // Sysfs shows only a part of the path when the mount namespace of the opener, such as a container, no longer exists.
  const isSamePath = (shown: string): boolean => path.endsWith(withoutSuffix(shown));
  const own = await readIdentity(path);
  const ownName = basename(path);
  const isUser = ({ name, identity, fileName }: LoopDevice): boolean => {
    const isOwn = identity !== undefined && identity === own;
    if (!isOwn && identity !== undefined && fileName !== ownName) return false;
    const shown = readSysfs(`${sysfs}/${name}/loop/backing_file`);
    if (shown === undefined) return false;
    return isOwn || ((identity === undefined || shown.endsWith(deletedSuffix)) && isSamePath(shown));
  };
  return devices.filter(isUser).map(({ name }) => name);
}

/** The directory of all loop devices, without the symbolic links of /sys/block. */
const sysfs = '/sys/devices/virtual/block';

/**
 * The file of a loop device: its name, which it keeps even if it moves to another directory, and its identity, unless that
 * cannot be read.
 */
type LoopFile = { readonly fileName: string; readonly identity: string | undefined };
type LoopDevice = LoopFile & { readonly name: string };

/** The last listing, and the number of the kernel's last event before it. */
let last: { readonly event: string; readonly devices: readonly LoopDevice[] } | undefined;

/**
 * Lists loop devices that have a file. The kernel has many more unused ones, and a check of each would open a file. The kernel
 * announces a device once it has a file, so the last listing holds until there is another event.
 */
async function listLoops(): Promise<readonly LoopDevice[]> {
  const event = readSysfs('/sys/kernel/uevent_seqnum');
  if (event !== undefined && event === last?.event) return last.devices;
  const partitions = readSysfs('/proc/partitions') ?? '';
  const names = Array.from(partitions.matchAll(/ (loop\d+)$/gm), ([, name = '']) => name);
  const devices = await readFiles(names);
  last = event === undefined ? undefined : { event, devices };
  return devices;
}

const shareList = shareRuns(listLoops);

const deletedSuffix = ' (deleted)';

function withoutSuffix(shown: string): string {
  return shown.endsWith(deletedSuffix) ? shown.slice(0, -deletedSuffix.length) : shown;
}

/** Reads `major:minor inode` as losetup shows it; undefined when the file is missing. */
async function readIdentity(path: string): Promise<string | undefined> {
  const found = await stat(path, { bigint: true }).catch(ignore('ENOENT'));
  if (!found) return undefined;
  return `${deviceNumber(found.dev)} ${found.ino}`;
}

/** The file of each loop device, by the device's sequence number, which is never reused. A device keeps its file. */
const files = new Map<string, LoopFile>();
const maxFiles = 4_096;
const listing = ['--list', '--noheadings', '--output', 'NAME,BACK-MAJ:MIN,BACK-INO'];
const listTimeoutMs = 10_000;

/**
 * Reads which file each loop device has, for a known device with one read. A file's identity is independent of sysfs. Files
 * that cannot be identified, for example without root, have none.
 */
async function readFiles(names: readonly string[]): Promise<readonly LoopDevice[]> {
  const sequences = names.map(sequenceOf);
  const known = sequences.map((sequence = '') => files.get(sequence));
  const unknown = names.filter((_, index) => known[index] === undefined).map(name => `/dev/${name}`);
  // losetup lists one device or all.
  const args = unknown.length === 1 ? [...listing, ...unknown] : listing;
  const { stdout } =
    unknown.length === 0 ? { stdout: '' } : await exec('losetup', args, { timeoutMs: listTimeoutMs });
  if (files.size >= maxFiles) files.clear();
  return names.flatMap((name, index) => {
    const file = known[index];
    if (file) return { name, ...file };
    const shown = readSysfs(`${sysfs}/${name}/loop/backing_file`);
    if (shown === undefined) return [];
    const fileName = basename(withoutSuffix(shown));
    const [, number, inode] = new RegExp(`^/dev/${name} +(\\d+:\\d+) +(\\d+) *$`, 'm').exec(stdout) ?? [];
    const sequence = sequences[index];
    // A device that got another file meanwhile is left without identity.
    if (inode === undefined || sequenceOf(name) !== sequence) return { name, fileName, identity: undefined };
    const read = { fileName, identity: `${number} ${inode}` };
    if (sequence !== undefined) files.set(sequence, read);
    return { name, ...read };
  });
}

function sequenceOf(name: string): string | undefined {
  return readSysfs(`${sysfs}/${name}/diskseq`);
}
