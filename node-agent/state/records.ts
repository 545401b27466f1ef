import { createHash } from 'node:crypto';
import { isSameReach, type Attachment } from '../../src/api/attachment.ts';
import type { FormatOptions } from '../../src/api/filesystems.ts';
import { Problem } from '../../src/api/problem.ts';
import type { Capability } from '../../src/api/storage.ts';
import { silentLog, type Log } from '../../src/lib/log.ts';
import type { Device } from '../connector.ts';
import type { Host } from '../host.ts';

/**
 * What the agent knows of one volume. It is written before the first side effect and says what may have been done;
 * what is mounted now, mountinfo says.
 */
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
  /** mkfs was started on this device and nothing was mounted from it since: what it left may be made again. */
  readonly formatting?: FormattingMark | undefined;
  /**
   * It is not here: it was taken down and left its mark, or it did not outlive a reboot. The record is kept for the mark,
   * or for what is still to be undone, and is no longer true once the volume is staged.
   */
  readonly isDown?: true;
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
export interface Records {
  /** The volume's record; a damaged one is a `Problem`, since taking it for absent would lose what was done. */
  get(volumeId: string): VolumeRecord | undefined;
  /** All records but damaged ones. */
  all(): readonly VolumeRecord[];
  /** Those of volumes that are here, or on their way. */
  here(): readonly VolumeRecord[];
  /** How many files were no records that can be read. */
  readonly damagedCount: number;
  /** The id of a volume other than this one that is staged or published at the path. */
  holderOf(path: string, exceptVolumeId: string): string | undefined;
  /** The id of a volume other than this one that is reached in the very same way, and holds on to its device. */
  holderOfDevice(attachment: Attachment, exceptVolumeId: string): string | undefined;
  /** How all volumes other than this one are reached that may be connected, and are not about to be disconnected. */
  othersThan(volumeId: string): readonly Attachment[];
  /** Notes that a volume is about to be disconnected: of two at a time, neither waits for the other. */
  setLeaving(volumeId: string, isLeaving: boolean): void;
  /** Writes the record; durable on return. */
  put(record: VolumeRecord): Promise<void>;
  /** Keeps the record for this process alone, for what need not outlive it. */
  keep(record: VolumeRecord): void;
  remove(volumeId: string): Promise<void>;
}

const formatVersion = 2;

/**
 * Reads all records of a directory, which is made when it is not there. What cannot be read as one is logged and left as
 * it is, but drafts that a crash left.
 */
export async function openRecords(directory: string, host: Host, log: Log = silentLog): Promise<Records> {
  await host.makeDirectory(directory);
  const { records, damaged } = await readAll(directory, host, log);
  const leaving = new Set<string>();
  const here = (): readonly VolumeRecord[] => [...records.values()].filter(({ isDown }) => !isDown);
  return {
    damagedCount: damaged.size,
    here,
    get(volumeId) {
      const fault = damaged.get(fileNameOf(volumeId));
      if (fault === undefined) return records.get(volumeId);
      throw new Problem(
        'FAILED_PRECONDITION',
        `the record of volume "${volumeId}" in "${directory}/${fileNameOf(volumeId)}" is damaged: ${fault}`,
      );
    },
    all: () => [...records.values()],
    holderOf: (path, exceptVolumeId) =>
      here().find(record => record.volumeId !== exceptVolumeId && uses(record, path))?.volumeId,
    holderOfDevice: (attachment, exceptVolumeId) =>
      [...records.values()]
        .filter(holdsDevice)
        .find(record => record.volumeId !== exceptVolumeId && isSameReach(record.attachment, attachment))
        ?.volumeId,
    othersThan: volumeId =>
      here()
        .filter(record => record.volumeId !== volumeId && !leaving.has(record.volumeId))
        .map(({ attachment }) => attachment),
    setLeaving(volumeId, isLeaving) {
      if (isLeaving) leaving.add(volumeId);
      else leaving.delete(volumeId);
    },
    async put(record) {
      await write(`${directory}/${fileNameOf(record.volumeId)}`, record, host);
      records.set(record.volumeId, record);
    },
    keep: record => void records.set(record.volumeId, record),
    async remove(volumeId) {
      await host.removeFile(`${directory}/${fileNameOf(volumeId)}`);
      records.delete(volumeId);
    },
  };
}

/** A volume that is down has no device connected, unless a half-made filesystem is on it. */
export function holdsDevice({ isDown, formatting }: VolumeRecord): boolean {
  return !isDown || formatting !== undefined;
}

type Read = {
  readonly records: Map<string, VolumeRecord>;
  /** What is wrong with a file, by its name. */
  readonly damaged: ReadonlyMap<string, string>;
};

async function readAll(directory: string, host: Host, log: Log): Promise<Read> {
  const records = new Map<string, VolumeRecord>();
  const damaged = new Map<string, string>();
  for (const name of await host.list(directory)) {
    const path = `${directory}/${name}`;
    const isFile = ['file', 'filled'].includes(await host.kindOf(path));
    if (isFile && name.endsWith('.json.tmp')) await host.removeFile(path);
    else if (!isFile || !name.endsWith('.json')) log.warn('this is no record of a volume', { path });
    else {
      const record = readRecord((await host.readText(path)) ?? '');
      if (typeof record !== 'string') records.set(record.volumeId, record);
      else {
        damaged.set(name, record);
        log.warn('the record of a volume is damaged', { path, detail: record });
      }
    }
  }
  return { records, damaged };
}

function uses({ stagingPath, targets }: VolumeRecord, path: string): boolean {
  return stagingPath === path || targets.some(target => target.path === path);
}

async function write(path: string, record: VolumeRecord, host: Host): Promise<void> {
  const stored: Stored = { version: formatVersion, digest: digestOf(record), record };
  try {
    await host.writeDurably(path, `${JSON.stringify(stored)}\n`);
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    throw new Problem(
      'UNAVAILABLE',
      `cannot write the record of volume "${record.volumeId}": ${code}`,
      error,
    );
  }
}

/** The id's readable part, and a hash that tells apart what is not readable. */
function fileNameOf(volumeId: string): string {
  const readable = volumeId.replaceAll(/[^A-Za-z0-9-]/g, '_').slice(0, 64);
  const hash = createHash('sha256').update(volumeId).digest('hex').slice(0, 16);
  return `${readable}-${hash}.json`;
}

/** What a file holds; the digest tells a record that was damaged from one that was written. */
type Stored = { readonly version: number; readonly digest: string; readonly record: VolumeRecord };

/** The record, or what is wrong with it. */
function readRecord(text: string): VolumeRecord | string {
  try {
    const { version, digest, record } = JSON.parse(text) as Stored;
    if (version !== formatVersion) return `it has version ${String(version)}`;
    return digest === digestOf(record) ? record : 'it does not have its digest';
  } catch {
    return 'it is not JSON';
  }
}

function digestOf(record: VolumeRecord): string {
  return createHash('sha256').update(JSON.stringify(record)).digest('hex');
}
