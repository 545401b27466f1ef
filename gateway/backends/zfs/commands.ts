import { existsSync } from 'node:fs';
import { readdir, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { exec, type ExecResult } from '../../../src/lib/exec.ts';
import { execLocked } from '../../local/devices/command-lock.ts';
import { commandProblem, ignore } from '../../local/files.ts';
import { ownerProperty, recordProperties } from './names.ts';

/** The columns of a report. Sizes are in bytes, times in seconds; a property that is absent is `-`. */
const columns = [
  'name',
  'type',
  'used',
  'available',
  'referenced',
  'volsize',
  'volblocksize',
  'creation',
  'createtxg',
  'guid',
  'clones',
  'defer_destroy',
  'sync',
  'readonly',
  'keystatus',
  recordProperties.volume,
  recordProperties.snapshot,
  ownerProperty,
] as const;

export type ReportRow = Readonly<Record<(typeof columns)[number], string>>;

const timeoutMs = 120_000;
/** The maximum output for a dataset with very many snapshots, in characters. */
const maxOutput = 2 ** 27;

/** The state of the storage pool below a dataset. */
export type PoolStatus = { readonly health: string; readonly usedPercent: number };

/** The commands of an open pool. */
export type Commands = {
  /** Reports the dataset itself, then its volumes and their snapshots, or only those with these paths. */
  report(paths?: readonly string[]): Promise<ExecResult>;
  status(): Promise<PoolStatus>;
  /** Runs a command that changes the dataset. */
  change(args: readonly string[]): Promise<ExecResult>;
  /** Waits until udev has handled the events so far, but not for long on a busy machine. */
  settle(): Promise<unknown>;
  /**
   * Asks udev again for the missing links of devices. Udev makes no link if its program could not open the device while
   * ZFS worked on it.
   */
  relink(): Promise<void>;
  /** Returns the name of the volume that a device has; undefined if it has none. */
  volumeAt(devicePath: string): Promise<string | undefined>;
};

/** The directory of udev's links to devices. */
const linksPath = '/dev/zvol';
/** Udev's program that names the volume of a device. */
const zvolId = '/usr/lib/udev/zvol_id';

export function createCommands(dataset: string, lockPath: string): Commands {
  return {
    report: paths => runReport(dataset, paths),
    status: () => readStatus(dataset),
    change: args => execLocked(lockPath, ['zfs', ...args], timeoutMs),
    settle: () => exec('udevadm', ['settle', '--timeout=10'], { timeoutMs }),
    relink,
    async volumeAt(devicePath) {
      const { status, stdout } = await exec(zvolId, [devicePath], { timeoutMs });
      return status === 0 ? stdout.trim() : undefined;
    },
  };
}

async function relink(): Promise<void> {
  const follow = (link: string) => realpath(join(linksPath, link)).catch(ignore('ENOENT'));
  const linked = new Set(await Promise.all((await listLinks(linksPath)).map(follow)));
  const names = (await readdir('/sys/block')).filter(
    name => /^zd\d+$/.test(name) && !linked.has(`/dev/${name}`),
  );
  if (names.length === 0) return;
  const devices = names.map(name => `--sysname-match=${name}`);
  const trigger = ['trigger', '--action=change', '--subsystem-match=block', ...devices];
  const result = await exec('udevadm', trigger, { timeoutMs });
  if (result.status !== 0) throw commandProblem('udevadm trigger', 'ask udev for links to devices', result);
}

/** Lists the tree below a directory; again if a directory in it was removed meanwhile. A missing tree is empty. */
async function listLinks(directory: string): Promise<readonly string[]> {
  for (;;) {
    const links = await readdir(directory, { recursive: true }).catch(ignore('ENOENT'));
    if (links) return links;
    if (!existsSync(directory)) return [];
  }
}

export function runReport(dataset: string, paths: readonly string[] = []): Promise<ExecResult> {
  const depth = paths.length > 0 ? [] : ['-r', '-d', '2'];
  const which = [...depth, '-t', 'filesystem,volume,snapshot'];
  const args = ['list', '-Hp', ...which, '-o', columns.join(), '--', dataset, ...paths];
  return exec('zfs', args, { timeoutMs, maxOutput });
}

/** Parses a report. UNAVAILABLE when the command has failed. */
export function parseRows(dataset: string, result: ExecResult): readonly ReportRow[] {
  if (result.status !== 0) throw commandProblem('zfs list', `read dataset "${dataset}"`, result);
  return result.stdout
    .split('\n')
    .filter(Boolean)
    .map(line => line.split('\t'))
    .map(cells => Object.fromEntries(columns.map((name, index) => [name, cells[index] ?? '-'])) as ReportRow);
}

async function readStatus(dataset: string): Promise<PoolStatus> {
  const text = await readStoragePool(dataset, '-Hp', '-o', 'health,capacity');
  const [health = '', capacity = ''] = text.trim().split('\t');
  return { health, usedPercent: Number(capacity) };
}

/** Says if the storage pool below a dataset has disks in raidz or draid. */
export async function hasParity(dataset: string): Promise<boolean> {
  return /^\s+d?raid/m.test(await readStoragePool(dataset, '-Hv', '-o', 'name'));
}

async function readStoragePool(dataset: string, ...options: readonly string[]): Promise<string> {
  const [pool = ''] = dataset.split('/');
  const result = await exec('zpool', ['list', ...options, '--', pool], { timeoutMs });
  if (result.status !== 0) throw commandProblem('zpool list', `read pool "${pool}"`, result);
  return result.stdout;
}
