import { exec, type ExecResult } from '../../../src/lib/exec.ts';
import { execLocked } from '../../local/devices/command-lock.ts';
import { commandProblem } from '../../local/files.ts';
import { sectorBytes } from '../../local/kernel/sysfs.ts';
import { deviceOf } from './names.ts';

/** A thin pool by its volume group and its name. */
export type PoolName = { readonly group: string; readonly thinPool: string };

/** The columns of a report. Sizes are in bytes; a property that is absent or unknown is empty. */
const columns = [
  'lv_name',
  'thin_id',
  'lv_tags',
  'pool_lv',
  'segtype',
  'lv_size',
  'lv_active',
  'lv_device_open',
  'lv_suspended',
  'data_percent',
  'metadata_percent',
  'lv_metadata_size',
  'lv_when_full',
  'lv_health_status',
  'zero',
  'discards',
  'vg_extent_size',
  'vg_mda_free',
  'vg_mda_size',
  'vg_lock_type',
] as const;

export type ReportRow = Readonly<Record<(typeof columns)[number], string>>;

const timeoutMs = 120_000;
/** The maximum output for a group with very many volumes, in characters. */
const maxOutput = 2 ** 27;

/**
 * Overrides of the machine's lvm.conf: the form of reports, and no archive, because busy groups would
 * have very many archived states. LVM still keeps a backup of the newest state.
 */
const config = 'backup { archive=0 } report { binary_values_as_numeric=0 }';

/** The commands of an open pool. */
export type Commands = {
  /** Reports the thin pool and all of its volumes, as JSON. The group's other volumes are not in it. */
  report(): Promise<ExecResult>;
  /** Runs a command that changes the group. With `disks` LVM reads no other disk. */
  change(args: readonly string[], disks?: readonly string[]): Promise<ExecResult>;
  /** Reads the bytes that an active volume has taken of the pool; undefined when the kernel does not tell. */
  usedBytes(name: string): Promise<number | undefined>;
  /** The file that commands lock. */
  readonly lockPath: string;
};

export function createCommands(pool: PoolName, lockPath: string): Commands {
  return {
    report: () => runReport(pool),
    // After the time-out the command is killed and may leave a volume suspended; `change` in pool.ts ends that.
    change: ([command = '', ...args], disks) =>
      execLocked(lockPath, ['lvm', command, '--config', configFor(disks), ...args], timeoutMs),
    usedBytes: name => readUsedBytes(deviceOf(pool.group, name)),
    lockPath,
  };
}

/** Reads the bytes of a thin volume, in the words of the kernel: `0 SECTORS thin USED_SECTORS HIGHEST_SECTOR`. */
async function readUsedBytes(device: string): Promise<number | undefined> {
  const { status, stdout } = await exec('dmsetup', ['status', '--noflush', '--', device], { timeoutMs });
  const [, sectors] = /^0 \d+ thin (\d+) /.exec(stdout) ?? [];
  return status === 0 && sectors !== undefined ? Number(sectors) * sectorBytes : undefined;
}

/** Parses a report. UNAVAILABLE when the command has failed. */
export function parseRows(group: string, result: ExecResult): readonly ReportRow[] {
  if (result.status !== 0) throw commandProblem('lvm', `read volume group "${group}"`, result);
  const { report } = JSON.parse(result.stdout) as {
    readonly report: readonly { readonly lv: readonly ReportRow[] }[];
  };
  return report.flatMap(({ lv }) => lv);
}

export function runReport({ group, thinPool }: PoolName): Promise<ExecResult> {
  const format = ['--reportformat', 'json', '--units', 'b', '--nosuffix'];
  const select = ['--select', `pool_lv="${thinPool}" || lv_name="${thinPool}"`];
  const args = ['lvs', '--config', config, ...format, '--options', columns.join(), ...select, '--', group];
  return exec('lvm', args, { timeoutMs, maxOutput });
}

/** Lists the paths of the group's disks. */
export async function listDisks(group: string): Promise<readonly string[]> {
  const select = ['--noheadings', '--options', 'pv_name', '--select', `vg_name="${group}"`];
  const result = await exec('lvm', ['pvs', '--config', config, ...select], { timeoutMs, maxOutput });
  if (result.status !== 0) throw commandProblem('lvm pvs', `list the disks of "${group}"`, result);
  return result.stdout.split('\n').flatMap(line => line.trim() || []);
}

/** Adds a filter of disks to the overrides. Only letters, digits and a few others are literal in a filter. */
function configFor(disks: readonly string[] = []): string {
  if (disks.length === 0) return config;
  const accepted = disks.map(path => `"a|^${path.replaceAll(/[^\w/:-]/g, '.')}$|"`);
  return `${config} devices { filter=[ ${accepted.join()}, "r|.*|" ] }`;
}
