import { realpath } from 'node:fs/promises';
import { Problem, unavailableProblem } from '../../../src/api/problem.ts';
import { poll } from '../../../src/lib/concurrency.ts';
import { failureText } from '../../../src/lib/exec.ts';
import type { VolumeRef } from '../../backend.ts';
import { createFinder, type Finder, type Noun, type PoolEntry } from '../../local/devices/finder.ts';
import { commandProblem, ignore, shareRuns } from '../../local/files.ts';
import { createKnownDisks } from '../../local/kernel/known-disks.ts';
import { parseRows, type Commands, type ReportRow } from './commands.ts';
import { keyName, nameOf, ownerProperty, readRecord, recordProperties } from './names.ts';

/** The pool in messages. */
export const poolNoun = 'the dataset';

/** A volume of a dataset (zvol), or a snapshot of one, as it is now. */
export type Zvol = PoolEntry & {
  readonly noun: Noun;
  /** Its full name in ZFS, such as `tank/fairlead/fairlead.volume.a.x`. */
  readonly path: string;
  /** The bytes of the pool that it has, shared with others or not. */
  readonly referencedBytes: number;
  /** The size of its blocks; 0 for a snapshot. */
  readonly blockBytes: number;
  readonly createdAtMs: number;
  /** The transaction that made it: snapshots of one volume ascend. */
  readonly transaction: number;
  readonly guid: string;
  /** The paths of the volumes that share its blocks; only of a snapshot. */
  readonly clones: readonly string[];
  /** ZFS destroys such a snapshot together with its last clone. */
  readonly isDeferred: boolean;
};

/** The state of a dataset at one moment. */
export type PoolReport = Finder<Zvol> & {
  readonly usedBytes: number;
  readonly availableBytes: number;
  readonly all: readonly Zvol[];
  /** The owner mark as the volume with the pool's secret has it; undefined without such a volume. */
  readonly owner: string | undefined;
};

/** A dataset that no other process has open. */
export type ZfsPool = ReturnType<typeof openPool>;

/** A dataset with less space is full: ZFS creates nothing new there. */
const fullBytes = 2 ** 20;
/** Udev makes the link to a device shortly after the volume. After this time it is asked to make the link. */
const devicePatience = { everyMs: 50, timeoutMs: 5_000 };
const maxAttempts = 4;

export function openPool(dataset: string, commands: Commands) {
  /** Reports the dataset's state after the call. Concurrent calls share a report. */
  const report = shareRuns(() => reportOf());
  /** Reports all volumes and snapshots, or only those with these paths. */
  async function reportOf(paths?: readonly string[]): Promise<PoolReport> {
    return readReport(dataset, parseRows(dataset, await commands.report(paths)));
  }
  const pathOf = (name: string): string => `${dataset}/${name}`;

  return {
    dataset,
    report,
    reportOf,
    /** Reports a volume, or that it is missing. A report of all volumes takes long in a large pool. */
    async reportOn({ id }: VolumeRef): Promise<PoolReport> {
      const path = pathOf(nameOf('volume', id));
      const result = await commands.report([path]);
      // For every fault the status is 1, so only the text tells that the volume is missing.
      const isMissing =
        result.status === 1 && result.stderr.trim() === `cannot open '${path}': dataset does not exist`;
      return readReport(dataset, parseRows(dataset, isMissing ? { ...result, status: 0 } : result));
    },
    status: commands.status,
    known: createKnownDisks(),
    pathOf,
    /**
     * Runs a command that changes the dataset. RESOURCE_EXHAUSTED when it is full. `work` is the purpose for messages.
     */
    async change(args: readonly string[], work: string): Promise<void> {
      const result = await commands.change(args);
      if (result.status === 0) return;
      if (result.status !== undefined && (await report()).availableBytes < fullBytes)
        throw new Problem(
          'RESOURCE_EXHAUSTED',
          `cannot ${work}: dataset "${dataset}" is full: ${failureText(result.stderr)}`,
        );
      throw commandProblem(`zfs ${args[0]}`, work, result);
    },
    /**
     * Waits until a volume's device is there, and returns its path. Udev may remove the link of a deleted volume late, so
     * its events come first. An old link may point to a device that now belongs to another volume, so zvol_id reads the
     * name from the device.
     */
    async requireDevice(path: string): Promise<string> {
      const device = deviceOf(path);
      await commands.settle();
      const look = async (): Promise<true | undefined> => {
        const target = await realpath(device).catch(ignore('ENOENT'));
        return target !== undefined && (await commands.volumeAt(target)) === path ? true : undefined;
      };
      for (let attempt = 1; attempt <= maxAttempts; attempt++) {
        if (attempt > 1) await commands.relink();
        if (await poll(look, devicePatience)) return device;
      }
      throw unavailableProblem(`udev has not made the device ${device}`);
    },
  };
}

/** The path of the device of a volume with this path in ZFS. */
export function deviceOf(path: string): string {
  return `/dev/zvol/${path}`;
}

/** Reads a report. UNAVAILABLE without the dataset, because its volumes may still exist. */
function readReport(dataset: string, rows: readonly ReportRow[]): PoolReport {
  const own = rows.find(({ name }) => name === dataset);
  if (!own) throw unavailableProblem(`dataset "${dataset}" is missing`);
  const all = rows.filter(({ type }) => type !== 'filesystem').map(row => parseZvol(dataset, row));
  return {
    usedBytes: Number(own.used),
    availableBytes: Number(own.available),
    all,
    owner: ownerIn(dataset, rows),
    ...createFinder(all, { poolNoun, nameOf }),
  };
}

/** Reads the property with the owner mark; undefined without it. */
export function ownerIn(dataset: string, rows: readonly ReportRow[]): string | undefined {
  const value = rows.find(({ name }) => name === `${dataset}/${keyName}`)?.[ownerProperty];
  return value === '-' ? undefined : value;
}

function parseZvol(dataset: string, row: ReportRow): Zvol {
  const noun = row.type === 'snapshot' ? 'snapshot' : 'volume';
  const path = row.name;
  const name = noun === 'snapshot' ? path.slice(path.indexOf('@') + 1) : path.slice(dataset.length + 1);
  return {
    noun,
    path,
    name,
    record: readRecord(noun, name, row[recordProperties[noun]]),
    sizeBytes: Number(row.volsize),
    referencedBytes: Number(row.referenced),
    blockBytes: row.volblocksize === '-' ? 0 : Number(row.volblocksize),
    createdAtMs: Number(row.creation) * 1_000,
    transaction: Number(row.createtxg),
    guid: row.guid,
    clones: row.clones === '-' ? [] : row.clones.split(',').filter(Boolean),
    isDeferred: row.defer_destroy === 'on',
  };
}
