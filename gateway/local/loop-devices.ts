import { readFileSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { exec } from '../../src/lib/exec.ts';
import { codeOf, ignore, shareRuns } from './files.ts';

/** Lists this machine's loop devices that can write to the file. */
export async function writableLoopDevicesOf(path: string): Promise<readonly string[]> {
  const devices = await loopDevicesOf(path);
  return devices.filter(device => readText(`/sys/block/${device}/ro`) !== '1');
}

/** Lists this machine's loop devices that have the file open, by name, including a file that was deleted meanwhile. */
export async function loopDevicesOf(path: string): Promise<readonly string[]> {
  const devices = await shareList();
  if (devices.length === 0) return [];
  // Sysfs shows only a part of the path when the mount namespace of the opener, such as a container, no longer exists.
  const isSamePath = (shown: string): boolean => path.endsWith(withoutSuffix(shown));
  // A file may have been in another directory at the listing, but never had another name.
  const hadName = (earlier: string): boolean => basename(withoutSuffix(earlier)) === basename(path);
  const own = await readIdentity(path);
  const isUser = ({ name, identity, shown: earlier }: LoopDevice): boolean => {
    const isOwn = identity !== undefined && identity === own;
    if (!isOwn && identity !== undefined && !hadName(earlier)) return false;
    const shown = readText(`/sys/block/${name}/loop/backing_file`);
    if (shown === undefined) return false;
    return isOwn || ((identity === undefined || shown.endsWith(deletedSuffix)) && isSamePath(shown));
  };
  return devices.filter(isUser).map(({ name }) => name);
}

/** A loop device with a file: the file's identity, unless it cannot be read, and the path in sysfs at the listing. */
type LoopDevice = { readonly name: string; readonly identity: string | undefined; readonly shown: string };

/** The last listing, and the number of the kernel's last event before it. */
let last: { readonly event: string; readonly devices: readonly LoopDevice[] } | undefined;

/**
 * Lists loop devices that have a file. The kernel has many more unused ones, and a check of each would open a file. The kernel
 * announces a device once it has a file, so the last listing holds until there is another event.
 */
async function listLoops(): Promise<readonly LoopDevice[]> {
  const event = readText('/sys/kernel/uevent_seqnum');
  if (event !== undefined && event === last?.event) return last.devices;
  const partitions = readText('/proc/partitions') ?? '';
  const names = Array.from(partitions.matchAll(/ (loop\d+)$/gm), ([, name = '']) => name);
  const identities = names.length > 0 ? await identifyLoops(names) : new Map<string, string>();
  const devices = names.flatMap(name => {
    const shown = readText(`/sys/block/${name}/loop/backing_file`);
    return shown === undefined ? [] : [{ name, identity: identities.get(name), shown }];
  });
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
  const { dev, ino } = found;
  const major = ((dev >> 8n) & 0xfffn) | ((dev >> 32n) & ~0xfffn);
  const minor = (dev & 0xffn) | ((dev >> 12n) & ~0xffn);
  return `${major}:${minor} ${ino}`;
}

/** The file of each loop device, by the device's sequence number, which is never reused. A device keeps its file. */
const files = new Map<string, string>();
const maxFiles = 4_096;
const listing = ['--list', '--noheadings', '--output', 'NAME,BACK-MAJ:MIN,BACK-INO'];
const listTimeoutMs = 10_000;

/**
 * Reads which file each loop device has, independently of sysfs. Devices that cannot be read, for example without
 * root, are left out.
 */
async function identifyLoops(names: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const devices = names.map(name => ({ name, sequence: sequenceOf(name) }));
  const known = new Map(devices.map(({ name, sequence = '' }) => [name, files.get(sequence)]));
  if ([...known.values()].includes(undefined)) {
    const { stdout } = await exec('losetup', listing, { timeoutMs: listTimeoutMs });
    if (files.size >= maxFiles) files.clear();
    for (const { name, sequence } of devices) {
      const [, number, inode] = new RegExp(`^/dev/${name} +(\\d+:\\d+) +(\\d+) *$`, 'm').exec(stdout) ?? [];
      // A device that got another file meanwhile is left out.
      if (inode === undefined || sequenceOf(name) !== sequence) continue;
      known.set(name, `${number} ${inode}`);
      if (sequence !== undefined) files.set(sequence, `${number} ${inode}`);
    }
  }
  return new Map([...known].filter((entry): entry is [string, string] => entry[1] !== undefined));
}

function sequenceOf(name: string): string | undefined {
  return readText(`/sys/block/${name}/diskseq`);
}

/** Reads a file of sysfs; undefined when the device is disconnected or not set up. */
function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trimEnd();
  } catch (error) {
    if (['ENOENT', 'ENXIO', 'ENODEV'].includes(codeOf(error))) return undefined;
    throw error;
  }
}
