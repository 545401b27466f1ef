import { Problem } from '../../../src/api/problem.ts';
import { failureText } from '../../../src/lib/exec.ts';
import type { VolumeRef } from '../../backend.ts';
import { createFinder, type Finder, type Noun, type PoolEntry } from '../../local/devices/finder.ts';
import type { UsedPart } from '../../local/devices/pool-faults.ts';
import { commandProblem, shareRuns } from '../../local/files.ts';
import { createKnownDisks } from '../../local/kernel/known-disks.ts';
import { deviceSize } from '../../local/kernel/sysfs.ts';
import { parseRows, type Commands, type PoolName, type ReportRow } from './commands.ts';
import { createGates } from './gates.ts';
import { gateOf, keyTag, nameOf, readRecord, type Tags } from './names.ts';

/** The pool in messages. */
export const poolNoun = 'the thin pool';

/** A thin volume as it is now. */
export type ThinVolume = PoolEntry & {
  readonly tags: Tags;
  /** Its number in the thin pool. */
  readonly thinId: string;
  readonly extentBytes: number;
  /** The bytes of the pool that it has, shared with others or not; its size while it is inactive. */
  readonly usedBytes: number;
  readonly isActive: boolean;
  readonly isOpen: boolean;
  readonly isSuspended: boolean;
};

/** The thin pool as it is now. */
export type ThinPool = {
  readonly sizeBytes: number;
  readonly extentBytes: number;
  /** Fault of the pool as LVM names it, such as `metadata_read_only`; empty without one. */
  readonly fault: string;
  readonly parts: readonly UsedPart[];
};

/** The state of a pool at one moment. */
export type PoolReport = Finder<ThinVolume> & {
  readonly thin: ThinPool;
  readonly volumes: readonly ThinVolume[];
};

/** A thin pool that no other process has open. */
export type LvmPool = ReturnType<typeof openPool>;

export function openPool(poolName: PoolName, commands: Commands) {
  const { group } = poolName;
  /** Reports the pool's state after the call. Concurrent calls share a report. */
  const report = shareRuns(async () => readReport(poolName, parseRows(group, await commands.report())));

  /**
   * Gives the kernel what LVM has recorded of these volumes, where a killed command has not: it leaves a volume suspended,
   * where writes of nodes wait, or as small as it was. LVM must take no snapshot of a suspended volume: it would record
   * one that the kernel does not have, and then refuse every further change of the pool.
   */
  async function refresh(volumes: readonly ThinVolume[]): Promise<void> {
    const unfinished = volumes.filter(one => one.record && isUnfinished(group, one));
    if (unfinished.length === 0) return;
    const names = unfinished.map(({ name }) => `${group}/${name}`);
    const result = await commands.change(['lvchange', '--refresh', '--', ...names]);
    if (result.status !== 0) throw commandProblem('lvm lvchange', `refresh "${names.join('", "')}"`, result);
  }

  /**
   * Runs a command that changes the pool. RESOURCE_EXHAUSTED when the pool is full. `work` is the purpose for messages.
   */
  async function change(args: readonly string[], work: string, disks?: readonly string[]): Promise<void> {
    const result = await commands.change(args, disks);
    if (result.status === 0) return;
    const { thin, volumes } = await report();
    await refresh(volumes);
    // A command that was killed may still have its effect, so its failure is not final.
    const full =
      result.status !== undefined &&
      thin.parts.find(({ usedPercent, fullPercent }) => usedPercent >= fullPercent);
    if (full)
      throw new Problem(
        'RESOURCE_EXHAUSTED',
        `cannot ${work}: ${full.noun} is ${full.usedPercent} % full: ${failureText(result.stderr)}`,
      );
    throw commandProblem(`lvm ${args[0]}`, work, result);
  }

  return {
    ...poolName,
    report,
    usedBytes: commands.usedBytes,
    change,
    refresh,
    known: createKnownDisks(),
    gates: createGates(`${group}/${poolName.thinPool}`, commands.lockPath),
    gateOf: (name: string): string => gateOf(group, name),
    /** The volume's path as an operand of commands, such as `vg0/fairlead.volume.a.x`. */
    operandOf: (name: string): string => `${group}/${name}`,
    pathOf: (name: string): string => pathOf(group, name),
    nameOf: (noun: Noun, id: string): string => nameOf(group, noun, id),
    /** Removes the volume or snapshot, unless it is missing or another one. */
    async remove(noun: Noun, ref: VolumeRef): Promise<void> {
      const found = (await report()).find(noun, ref);
      if (found)
        await change(['lvremove', '--yes', '--', `${group}/${found.name}`], `remove ${noun} "${ref.id}"`);
    },
  };
}

/** The size of the thin pool without that of other people's volumes, which may grow into it. */
export function spaceOf({ thin, volumes }: PoolReport): number {
  const others = volumes.filter(({ record, tags }) => !record && !tags.includes(keyTag));
  return Math.max(
    0,
    others.reduce((bytes, { sizeBytes }) => bytes - sizeBytes, thin.sizeBytes),
  );
}

function pathOf(group: string, name: string): string {
  return `/dev/${group}/${name}`;
}

/** True for a volume whose device is suspended, or smaller than LVM has recorded. */
export function isUnfinished(group: string, { name, isSuspended, sizeBytes }: ThinVolume): boolean {
  const shownBytes = deviceSize(pathOf(group, name));
  return isSuspended || (shownBytes !== undefined && shownBytes < sizeBytes);
}

/** Reads a report. UNAVAILABLE without the thin pool, because its volumes may still exist. */
function readReport({ group, thinPool }: PoolName, rows: readonly ReportRow[]): PoolReport {
  const own = rows.find(row => row.lv_name === thinPool);
  if (own?.segtype !== 'thin-pool')
    throw new Problem('UNAVAILABLE', `volume group "${group}" has no thin pool "${thinPool}"`);
  const volumes = rows.filter(row => row.pool_lv === thinPool).map(row => parseVolume(group, row));
  return {
    thin: parsePool(own),
    volumes,
    ...createFinder(volumes, { poolNoun, nameOf: (noun, id) => nameOf(group, noun, id) }),
  };
}

function parseVolume(group: string, row: ReportRow): ThinVolume {
  const sizeBytes = Number(row.lv_size);
  const { lv_name: name, data_percent: used } = row;
  const tags = row.lv_tags.split(',');
  return {
    name,
    tags,
    record: readRecord(group, name, tags),
    thinId: row.thin_id,
    sizeBytes,
    extentBytes: Number(row.vg_extent_size),
    usedBytes: used === '' ? sizeBytes : Math.ceil((sizeBytes * Number(used)) / 100),
    isActive: row.lv_active === 'active',
    isOpen: row.lv_device_open === 'open',
    isSuspended: row.lv_suspended === 'suspended',
  };
}

/** LVM makes no volume without so much free metadata, or this share of it. */
const [freeMetadataBytes, freeMetadataPercent] = [4 * 2 ** 20, 25];

function parsePool(row: ReportRow): ThinPool {
  const metadataBytes = Number(row.lv_metadata_size);
  // The area has the old and the new state side by side.
  const [free, total] = [Number(row.vg_mda_free), Number(row.vg_mda_size) / 2];
  return {
    sizeBytes: Number(row.lv_size),
    extentBytes: Number(row.vg_extent_size),
    fault: row.lv_health_status,
    parts: [
      {
        name: 'Data',
        noun: "the thin pool's data",
        usedPercent: Number(row.data_percent),
        fullPercent: 100,
      },
      {
        name: 'Metadata',
        noun: "the thin pool's metadata",
        usedPercent: Number(row.metadata_percent),
        fullPercent: 100 - Math.min(freeMetadataPercent, (freeMetadataBytes / metadataBytes) * 100),
      },
      {
        name: 'Records',
        noun: "the volume group's metadata",
        usedPercent: Math.round(((total - free) / total) * 100),
        fullPercent: 98,
      },
    ],
  };
}
