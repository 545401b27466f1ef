import { hash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Attachment } from '../../src/api/attachment.ts';
import type { FormatOptions } from '../../src/api/filesystems.ts';
import { preconditionProblem, Problem, unavailableProblem } from '../../src/api/problem.ts';
import type { Capability } from '../../src/api/storage.ts';
import { silentLog, type Log } from '../../src/lib/log.ts';
import type { Connection, Device } from '../connector.ts';
import type { Host } from '../host.ts';
import { findRecordFault, recordMembers, type Check } from './record-faults.ts';

/** What may have been done for a volume, written before the first side effect; what is mounted now, mountinfo says. */
export type VolumeRecord = {
  readonly volumeId: string;
  readonly attachment: Attachment;
  readonly stagingPath: string;
  readonly capability: Capability;
  readonly targets: readonly Target[];
  /** How its filesystem is made, where it has none. */
  readonly formatOptions?: FormatOptions | undefined;
  /** The device as it was when it was last connected: a hint, its owner is checked before use. */
  readonly device?: Device | undefined;
  /** What it was connected as, for undoing: true for as long as that use of the device lasts. `noteConnection` alone sets it. */
  readonly connection?: Connection | undefined;
  /** mkfs was started on this device and nothing was mounted from it since: what it left may be made again. */
  readonly formatting?: FormattingMark | undefined;
  /**
   * It is not here: it was taken down and left its mark, or it did not outlive a reboot. The record stays for the mark,
   * or for what is still to be undone, and is no longer true once the volume is staged.
   */
  readonly isDown?: true;
  /** It is about to be disconnected: of two at a time, neither waits for the other. For this process alone. */
  readonly isLeaving?: true;
};

/** A path at which the volume may be published. */
export type Target = { readonly path: string; readonly readonly: boolean };

/** What mkfs was started on. */
export type FormattingMark = {
  readonly attachmentId: string;
  readonly identity: string;
  readonly sizeBytes: number;
};

/** The agent's memory of its volumes; the agent is its only writer. */
export type Records = Awaited<ReturnType<typeof openRecords>>;

const formatVersion = 2;
/** How many lines are added to a record before it is written anew. */
const mostNotes = 16;

/** The compiler names a member that is not checked. */
const members: Readonly<Record<Exclude<keyof VolumeRecord, 'isLeaving'>, Check>> = recordMembers;

/** Where damage is logged, and what throws for a record of what no volume can be. */
type Opening = { readonly log?: Log; readonly requireSound?: (record: VolumeRecord) => void };

/** Reads all records of a directory, which is made if missing; a file that is none is logged and left as it is. */
export async function openRecords(directory: string, host: Host, opening: Opening = {}) {
  await host.makeDirectory(directory);
  const { records, damaged } = await readAll(directory, host, opening);
  const fileOf = (volumeId: string): string => `${directory}/${fileNameOf(volumeId)}`;
  const all = (): readonly VolumeRecord[] => [...records.values()];
  const here = (): readonly VolumeRecord[] => all().filter(({ isDown }) => !isDown);
  const withConnection = (record: VolumeRecord): VolumeRecord => {
    const connection = records.get(record.volumeId)?.connection;
    return connection ? { ...record, connection } : record;
  };
  /** How many lines were added to a record since it was written whole; absent where the last one may be torn. */
  const notes = new Map<string, number>();
  const put = async (record: VolumeRecord): Promise<void> => {
    await write(fileOf(record.volumeId), record, host.writeDurably);
    notes.set(record.volumeId, 0);
    records.set(record.volumeId, record);
  };
  const note = async (record: VolumeRecord): Promise<void> => {
    const count = notes.get(record.volumeId) ?? mostNotes;
    if (count >= mostNotes) return put(record);
    notes.delete(record.volumeId);
    await write(fileOf(record.volumeId), record, host.append);
    notes.set(record.volumeId, count + 1);
    records.set(record.volumeId, record);
  };
  return {
    /** How many files were no records that can be read. */
    damagedCount: damaged.size,
    /** All records but damaged ones. */
    all,
    /** Those of volumes that are here, or on their way. */
    here,
    /** The volume's record; a damaged one is a `Problem`, since taking it for absent would lose what was done. */
    get(volumeId: string): VolumeRecord | undefined {
      // A name of a file is a hash, which is not worth its cost where nothing is damaged.
      const fault = damaged.size > 0 ? damaged.get(fileOf(volumeId)) : undefined;
      if (fault === undefined) return records.get(volumeId);
      throw preconditionProblem(
        `the record of volume "${volumeId}" in "${fileOf(volumeId)}" is damaged: ${fault}`,
      );
    },
    /** Those of other volumes that hold on to their device: one that is down has none, unless a half-made filesystem is on it. */
    othersThan: (volumeId: string): readonly VolumeRecord[] =>
      all().filter(other => other.volumeId !== volumeId && (!other.isDown || other.formatting)),
    /** The id of a volume other than this one that is staged or published at the path. */
    holderOf: (path: string, exceptVolumeId: string): string | undefined =>
      here().find(record => record.volumeId !== exceptVolumeId && pathsOf(record).includes(path))?.volumeId,
    /** Writes the record; durable on return. */
    put: (record: VolumeRecord): Promise<void> => put(withConnection(record)),
    /** Writes what of a recorded volume says nothing any more once the machine was down; it outlives the agent alone. */
    note: (record: VolumeRecord): Promise<void> => note(withConnection(record)),
    /** Keeps the record for this process alone, for what need not outlive it. */
    keep: (record: VolumeRecord): void => void records.set(record.volumeId, withConnection(record)),
    /** Notes what a recorded volume is connected as, where that is new. */
    async noteConnection(volumeId: string, connection: Connection): Promise<void> {
      const record = records.get(volumeId);
      if (record && !isDeepStrictEqual(record.connection, connection)) await note({ ...record, connection });
    },
    async remove(volumeId: string): Promise<void> {
      await host.removeFile(fileOf(volumeId));
      notes.delete(volumeId);
      records.delete(volumeId);
    },
  };
}

/** Where a volume is staged, and where it may be published. */
export function pathsOf({ stagingPath, targets }: VolumeRecord): readonly string[] {
  return [stagingPath, ...targets.map(({ path }) => path)];
}

/** The records by volume, and what is wrong with a file, by its path. */
async function readAll(directory: string, host: Host, { log = silentLog, requireSound }: Opening) {
  const records = new Map<string, VolumeRecord>();
  const damaged = new Map<string, string>();
  for (const name of await host.list(directory)) {
    const path = `${directory}/${name}`;
    const isFile = ['file', 'filled'].includes(await host.kindOf(path));
    if (isFile && name.endsWith('.json.tmp')) await host.removeFile(path);
    else if (!isFile || !name.endsWith('.json')) log.warn('this is no record of a volume', { path });
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

async function write(path: string, record: VolumeRecord, save: Host['append']): Promise<void> {
  const stored: Stored = { version: formatVersion, digest: digestOf(record), record };
  try {
    await save(path, `${JSON.stringify(stored)}\n`);
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    const detail = `cannot write the record of volume "${record.volumeId}": ${code}`;
    throw unavailableProblem(detail, error);
  }
}

/** The id's readable part, and a hash that tells apart what is not readable. */
function fileNameOf(volumeId: string): string {
  const readable = volumeId.replaceAll(/[^A-Za-z0-9-]/g, '_').slice(0, 64);
  return `${readable}-${hash('sha256', volumeId).slice(0, 16)}.json`;
}

/** What a file holds; the digest tells a record that was damaged from one that was written. */
type Stored = { readonly version: number; readonly digest: string; readonly record: VolumeRecord };

/** The record that a file holds, or what is wrong with it: of sound lines the last one, since a crash may have torn what was added. */
function readLast(name: string, text: string, requireSound: Opening['requireSound']) {
  const [first = '', ...added] = text.trimEnd().split('\n');
  const record = readRecord(name, first, requireSound);
  if (typeof record === 'string') return record;
  const noted = added.map(line => readRecord(name, line, requireSound));
  return noted.findLast(one => typeof one !== 'string') ?? record;
}

/** The record that a line holds, or what is wrong with it. */
function readRecord(
  name: string,
  text: string,
  requireSound: Opening['requireSound'],
): VolumeRecord | string {
  try {
    const { version, digest, record }: Partial<Stored> = Object(JSON.parse(text));
    if (version !== formatVersion) return `it has version ${String(version)}`;
    if (record === undefined || digest !== digestOf(record)) return 'it does not have its digest';
    const fault = findRecordFault(record, members);
    if (fault !== undefined) return fault;
    if (fileNameOf(record.volumeId) !== name) return 'it is that of another volume';
    requireSound?.(record);
    return record;
  } catch (error) {
    return error instanceof Problem ? error.detail : 'it is not JSON';
  }
}

function digestOf(record: VolumeRecord): string {
  return hash('sha256', JSON.stringify(record));
}
