import { hash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Attachment } from '../../src/api/attachment.ts';
import type { FormatOptions } from '../../src/api/filesystems.ts';
import { preconditionProblem, Problem, unavailableProblem } from '../../src/api/problem.ts';
import type { Capability } from '../../src/api/storage.ts';
import { createKeyedQueue } from '../../src/lib/concurrency.ts';
import { silentLog, type Log } from '../../src/lib/log.ts';
import { reasonOf } from '../../src/lib/words/failures.ts';
import type { Connection, Device } from '../connector.ts';
import type { Host } from '../host.ts';
import { findRecordFault, recordMembers, type Check } from './record-faults.ts';

/** The record of the work on a volume, written before its first side effect. Mountinfo, not the record, tells its mounts. */
export type VolumeRecord = {
  readonly volumeId: string;
  readonly attachment: Attachment;
  readonly stagingPath: string;
  readonly capability: Capability;
  readonly targets: readonly Target[];
  readonly formatOptions?: FormatOptions | undefined;
  /** The device at the last connect. It is a hint: check its owner before use. */
  readonly device?: Device | undefined;
  /** The connected device, kept for disconnecting. Valid until the device is removed. Only `noteConnection` sets it. */
  readonly connection?: Connection | undefined;
  /** mkfs was started on this device, and nothing has been mounted from it since, so it may be formatted again. */
  readonly formatting?: FormattingMark | undefined;
  /**
   * The volume is not on this node: it was taken down but keeps its mkfs mark, or a reboot removed it. The record stays for
   * the mark or for the remaining clean-up, until the volume is staged again.
   */
  readonly isDown?: true;
  /** No stage has succeeded yet: a refused one undoes everything, and the device may be one that the machine itself uses. */
  readonly isUnfinished?: true;
  /** The volume is being disconnected, so another disconnect need not spare it. Kept in memory only. */
  readonly isLeaving?: true;
};

export type Target = {
  readonly path: string;
  readonly readonly: boolean;
  /** This path's read-only view of the volume's device. */
  readonly view?: Connection | undefined;
};

/** The mark of a started mkfs: the attachment and the device. */
export type FormattingMark = {
  readonly attachmentId: string;
  readonly identity: string;
  readonly sizeBytes: number;
};

/** The records of all volumes; the agent is their only writer. */
export type Records = Awaited<ReturnType<typeof openRecords>>;

const formatVersion = 2;
/** Maximum lines that are appended to a record file before it is rewritten. */
const maxAddedLines = 16;

/** The type makes the compiler report a member without a check. */
const members: Readonly<Record<Exclude<keyof VolumeRecord, 'isLeaving'>, Check>> = recordMembers;

/** The options of `openRecords`; `requireSound` throws for a record that no volume can have. */
type OpenOptions = { readonly log?: Log; readonly requireSound?: (record: VolumeRecord) => void };

/** Reads all records of a directory and makes it if it is missing; logs and keeps files that are not records. */
export async function openRecords(directory: string, host: Host, opening: OpenOptions = {}) {
  await host.createDirectory(directory);
  const { records, damaged } = await readAll(directory, host, opening);
  let holders: Holders | undefined;
  const set = (record: VolumeRecord): void => {
    records.set(record.volumeId, record);
    holders = undefined;
  };
  const fileOf = (volumeId: string): string => `${directory}/${fileNameOf(volumeId)}`;
  const all = (): readonly VolumeRecord[] => [...records.values()];
  const here = (): readonly VolumeRecord[] => all().filter(({ isDown }) => !isDown);
  const withConnection = (record: VolumeRecord): VolumeRecord => {
    const connection = records.get(record.volumeId)?.connection;
    return connection ? { ...record, connection } : record;
  };
  /** Lines that were appended to a record since its last rewrite; absent if the last line may be torn. */
  const addedLines = new Map<string, number>();
  const replaceFile = async (record: VolumeRecord): Promise<void> => {
    await writeRecord(fileOf(record.volumeId), record, host.writeDurably);
    addedLines.set(record.volumeId, 0);
  };
  const addLine = async (record: VolumeRecord): Promise<void> => {
    const count = addedLines.get(record.volumeId) ?? maxAddedLines;
    if (count >= maxAddedLines) return replaceFile(record);
    addedLines.delete(record.volumeId);
    await writeRecord(fileOf(record.volumeId), record, host.append);
    addedLines.set(record.volumeId, count + 1);
  };
  const enqueue = createKeyedQueue();
  /** Appends a changed record. Concurrent changes of one record are applied one after the other. */
  const change = (volumeId: string, apply: (record: VolumeRecord) => VolumeRecord): Promise<void> =>
    enqueue(volumeId, async () => {
      const before = records.get(volumeId);
      if (!before) return;
      await addLine(apply(before));
      // `keep` may have changed the record during the write.
      set(apply(records.get(volumeId) ?? before));
    });
  return {
    damagedCount: damaged.size,
    all,
    /** Lists the records of volumes that are on this node or being staged. */
    here,
    /** Returns the volume's record. FAILED_PRECONDITION for a damaged one, since its volume may be mounted. */
    get(volumeId: string): VolumeRecord | undefined {
      // The hash of the file name is computed only if a record is damaged.
      const fault = damaged.size > 0 ? damaged.get(fileOf(volumeId)) : undefined;
      if (fault === undefined) return records.get(volumeId);
      throw preconditionProblem(
        `the record of volume "${volumeId}" in "${fileOf(volumeId)}" is damaged: ${fault}; make sure that nothing of the volume is mounted or connected, remove the file, and restart the agent`,
      );
    },
    /** Lists the records of other volumes that claim a device: all except volumes that are down without an mkfs mark. */
    othersThan: (volumeId: string): readonly VolumeRecord[] =>
      all().filter(other => other.volumeId !== volumeId && (!other.isDown || other.formatting)),
    holderOf(path: string, exceptVolumeId: string): string | undefined {
      holders ??= findHolders(here());
      return holders.get(path)?.find(({ volumeId }) => volumeId !== exceptVolumeId)?.volumeId;
    },
    /** Writes the record; durable on return. */
    async put(record: VolumeRecord): Promise<void> {
      const connected = withConnection(record);
      await replaceFile(connected);
      set(connected);
    },
    /** Appends a change that survives the agent but not always the machine; use it for facts that a reboot voids. */
    async note(record: VolumeRecord): Promise<void> {
      const connected = withConnection(record);
      await addLine(connected);
      set(connected);
    },
    /** Adds or replaces a target path of a recorded volume. */
    noteTarget: (volumeId: string, target: Target): Promise<void> =>
      change(volumeId, record => ({ ...record, targets: [...targetsExcept(target.path, record), target] })),
    /** Removes a target path in memory only: a recorded path without a mount has no effect. */
    dropTarget(volumeId: string, path: string): void {
      const record = records.get(volumeId);
      if (record) set({ ...record, targets: targetsExcept(path, record) });
    },
    /** Changes the record in memory only. */
    keep: (record: VolumeRecord): void => set(withConnection(record)),
    /** Records the connection of a volume if it changed. */
    async noteConnection(volumeId: string, connection: Connection): Promise<void> {
      if (!isDeepStrictEqual(records.get(volumeId)?.connection, connection))
        await change(volumeId, record => ({ ...record, connection }));
    },
    async remove(volumeId: string): Promise<void> {
      await host.removeFile(fileOf(volumeId));
      addedLines.delete(volumeId);
      records.delete(volumeId);
      holders = undefined;
    },
  };
}

export function pathsOf({ stagingPath, targets }: VolumeRecord): readonly string[] {
  return [stagingPath, ...targets.map(({ path }) => path)];
}

type Holders = ReadonlyMap<string, readonly Pick<VolumeRecord, 'volumeId'>[]>;

function findHolders(records: readonly VolumeRecord[]): Holders {
  const held = records.flatMap(record => pathsOf(record).map(path => ({ path, volumeId: record.volumeId })));
  return Map.groupBy(held, ({ path }) => path);
}

function targetsExcept(path: string, { targets }: VolumeRecord): readonly Target[] {
  return targets.filter(target => target.path !== path);
}

/** Reads the valid records by volume, and the faults of damaged ones by path. */
async function readAll(directory: string, host: Host, { log = silentLog, requireSound }: OpenOptions) {
  const records = new Map<string, VolumeRecord>();
  const damaged = new Map<string, string>();
  for (const name of await host.list(directory)) {
    const path = `${directory}/${name}`;
    const isFile = ['file', 'filled'].includes(await host.kindOf(path));
    if (isFile && name.endsWith('.json.tmp')) await host.removeFile(path);
    else if (!isFile || !name.endsWith('.json')) log.warn('this is not a record of a volume', { path });
    else {
      const record = readLast(name, (await host.readText(path)) ?? '', requireSound);
      if (typeof record !== 'string') records.set(record.volumeId, record);
      else {
        damaged.set(path, record);
        log.warn('the record of a volume is damaged', { path, detail: record });
      }
    }
  }
  return { records, damaged };
}

/** Writes a record with `save`; UNAVAILABLE if that fails. */
export async function writeRecord(path: string, record: VolumeRecord, save: Host['append']): Promise<void> {
  const stored: RecordLine = { version: formatVersion, digest: digestOf(record), record };
  try {
    await save(path, `${JSON.stringify(stored)}\n`);
  } catch (error) {
    const detail = `cannot write the record of volume "${record.volumeId}": ${reasonOf(error)}`;
    throw unavailableProblem(detail, error);
  }
}

/** Makes a file name of the id's readable part and a hash of the whole id. */
export function fileNameOf(volumeId: string): string {
  const readable = volumeId.replaceAll(/[^A-Za-z0-9-]/g, '_').slice(0, 64);
  return `${readable}-${hash('sha256', volumeId).slice(0, 16)}.json`;
}

/** One line of a record file; the digest detects damage. */
type RecordLine = { readonly version: number; readonly digest: string; readonly record: VolumeRecord };

/**
 * Returns the record in a file's last valid line, or the fault of its first line. A crash may have torn appended lines.
 */
export function readLast(name: string, text: string, requireSound?: OpenOptions['requireSound']) {
  const [first = '', ...added] = text.trimEnd().split('\n');
  const record = readRecord(name, first, requireSound);
  if (typeof record === 'string') return record;
  const later = added.map(line => readRecord(name, line, requireSound));
  return later.findLast(one => typeof one !== 'string') ?? record;
}

/** Returns the record in a line, or the line's fault. */
function readRecord(
  name: string,
  text: string,
  requireSound: OpenOptions['requireSound'],
): VolumeRecord | string {
  try {
    const { version, digest, record }: Partial<RecordLine> = Object(JSON.parse(text));
    if (version !== formatVersion) return `it has version ${String(version)}`;
    if (record === undefined || digest !== digestOf(record)) return 'it does not match its digest';
    const fault = findRecordFault(record, members);
    if (fault !== undefined) return fault;
    if (fileNameOf(record.volumeId) !== name) return 'it belongs to another volume';
    requireSound?.(record);
    return record;
  } catch (error) {
    return error instanceof Problem ? error.detail : 'it is not JSON';
  }
}

function digestOf(record: VolumeRecord): string {
  return hash('sha256', JSON.stringify(record));
}

/** The record of a staged volume. It may hold data from now on, so no mark may allow an mkfs. */
export function withoutMarks(record: VolumeRecord): VolumeRecord {
  const { formatting: _, isUnfinished: __, ...unmarked } = record;
  return unmarked;
}

/** Returns true for a volume whose last stage ended well, and that has not been taken down since. */
export function isStaged(record: VolumeRecord): boolean {
  return !record.isDown && !record.isUnfinished;
}
