import { realpath } from 'node:fs/promises';
import { Problem, unavailableProblem } from '../../../src/api/problem.ts';
import { poll } from '../../../src/lib/concurrency.ts';
import { failureText } from '../../../src/lib/exec.ts';
import type { VolumeRef } from '../../backend.ts';
import { commandProblem, ignore, shareRuns } from '../../local/files.ts';
import { createKnownDisks } from '../../local/kernel/known-disks.ts';
import { parseRows, type Commands, type ReportRow } from './commands.ts';
import {
  keyName,
  nameOf,
  ownerProperty,
  readRecord,
  recordProperties,
  type DatasetRecord,
  type Noun,
} from './names.ts';

/** A volume of a dataset (zvol), or a snapshot of one, as it is now. */
export type Zvol = {
  readonly noun: Noun;
  /** Its name in ZFS, such as `tank/fairlead/fairlead.volume.a.x`. */
  readonly path: string;
  /** The last part of the path. */
  readonly name: string;
  /** Undefined for a volume or snapshot of somebody else. */
  readonly record: DatasetRecord | undefined;
  readonly sizeBytes: number;
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
export type PoolReport = {
  readonly usedBytes: number;
  readonly availableBytes: number;
  readonly all: readonly Zvol[];
  /** The owner mark as the volume with the pool's secret has it; undefined without such a volume. */
  readonly owner: string | undefined;
  /** Finds a volume or snapshot; undefined when it is missing, has another nonce, or is not of this gateway. */
  find(noun: Noun, ref: VolumeRef): Zvol | undefined;
  /**
   * Finds a volume or snapshot that a request may have created earlier. ALREADY_EXISTS when the name is in use for
   * anything else.
   */
  findMade(noun: Noun, ref: Required<VolumeRef>): Zvol | undefined;
};

/** A dataset that no other process has open. */
export type ZfsPool = ReturnType<typeof openPool>;

/** A dataset with less space is full: ZFS creates nothing new there. */
const fullBytes = 2 ** 20;
/** Udev makes the link to a device shortly after the volume. */
const devicePatience = { everyMs: 50, timeoutMs: 20_000 };

export function openPool(dataset: string, commands: Commands) {
  /** Reports the dataset's state after the call. Concurrent calls share a report. */
  const report = shareRuns(async () => readReport(dataset, parseRows(dataset, await commands.report())));
  const pathOf = (name: string): string => `${dataset}/${name}`;

  return {
    dataset,
    report,
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
      if (await poll(look, devicePatience)) return device;
      throw unavailableProblem(`udev has not made the device ${device}`);
    },
    /** Lists the ids of all volumes or snapshots. */
    async *list(noun: Noun): AsyncGenerator<string> {
      for (const one of (await report()).all) if (one.noun === noun && one.record) yield one.record.id;
    },
  };
}

/** The path of the device of a volume with this path in ZFS. */
export function deviceOf(path: string): string {
  return `/dev/zvol/${path}`;
}

/** Finds a volume or snapshot; NOT_FOUND when it is missing. */
export function requireZvol(report: PoolReport, ref: VolumeRef, noun: Noun = 'volume'): Zvol {
  const found = report.find(noun, ref);
  if (found) return found;
  throw new Problem('NOT_FOUND', `${noun} "${ref.id}" is missing in the dataset`);
}

/** Reads a report. UNAVAILABLE without the dataset, because its volumes may still exist. */
function readReport(dataset: string, rows: readonly ReportRow[]): PoolReport {
  const own = rows.find(({ name }) => name === dataset);
  if (!own) throw unavailableProblem(`dataset "${dataset}" is missing`);
  const all = rows.filter(({ type }) => type !== 'filesystem').map(row => parseZvol(dataset, row));
  const named = Map.groupBy(all, ({ noun, name }) => `${noun} ${name}`);
  const candidates = (noun: Noun, id: string): readonly Zvol[] =>
    named.get(`${noun} ${nameOf(noun, id)}`) ?? [];
  return {
    usedBytes: Number(own.used),
    availableBytes: Number(own.available),
    all,
    owner: ownerIn(dataset, rows),
    find: (noun, { id, nonce = '' }) =>
      candidates(noun, id).find(
        ({ record }) => record && (nonce === '' || record.nonce === '' || record.nonce === nonce),
      ),
    findMade(noun, { id, nonce }) {
      const found = candidates(noun, id);
      const made = found.find(({ record }) => record && (nonce === '' || record.nonce === nonce));
      if (made || found.length === 0) return made;
      throw new Problem('ALREADY_EXISTS', `"${found[0]?.path}" already exists for another record`);
    },
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
