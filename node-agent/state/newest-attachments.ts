import { hash } from 'node:crypto';
import { unavailableProblem } from '../../src/api/problem.ts';
import { parseJson } from '../../src/lib/json.ts';
import { reasonOf } from '../../src/lib/words/failures.ts';
import type { Host } from '../host.ts';

/**
 * The newest attachment of each volume that this node has ever used. Entries are on the disk only and are never removed. Both
 * calls are UNAVAILABLE if the disk fails.
 */
type NewestAttachments = {
  /** Reads the attachment's id; undefined for a volume that was never here. */
  get(volumeId: string): Promise<string | undefined>;
  /** Writes the attachment's id, one call at a time. A crash of the machine may undo the writes of its last seconds. */
  note(volumeId: string, attachmentId: string): Promise<void>;
};

/** A file is rewritten once its lines exceed twice its volumes by this number. */
const spareLines = 16;

/** Opens the directory, which is made with the first entry. A hash spreads volumes over 256 files, so that each stays short. */
export async function openNewestAttachments(directory: string, host: Host): Promise<NewestAttachments> {
  async function read(path: string): Promise<Shard> {
    const text = (await host.readText(path)) ?? '';
    const lines = text.split('\n');
    const isTorn = lines.pop() !== '';
    const newest = new Map(lines.map(line => parseJson(line)).filter(isEntry));
    return { newest, lineCount: lines.length, isTorn };
  }

  async function write(volumeId: string, attachmentId: string): Promise<void> {
    const path = pathOf(directory, volumeId);
    const { newest, lineCount, isTorn } = await read(path);
    if (newest.get(volumeId) === attachmentId) return;
    newest.set(volumeId, attachmentId);
    if (lineCount === 0) await host.createDirectory(directory);
    // A line that is appended to a torn one could not be read.
    if (isTorn || lineCount > 2 * newest.size + spareLines)
      await host.writeDurably(path, [...newest].map(toLine).join(''));
    else await host.append(path, toLine([volumeId, attachmentId]));
  }

  const newestAttachments: NewestAttachments = {
    get: volumeId =>
      orUnavailable('read', volumeId, async () => {
        const { newest } = await read(pathOf(directory, volumeId));
        return newest.get(volumeId);
      }),
    note: (volumeId, attachmentId) => orUnavailable('note', volumeId, () => write(volumeId, attachmentId)),
  };
  await takeOverOneFile(`${directory}.jsonl`, host, newestAttachments);
  return newestAttachments;
}

/** Volumes with the same hash. */
type Shard = {
  readonly newest: Map<string, string>;
  readonly lineCount: number;
  /** A crash cut off the last line. */
  readonly isTorn: boolean;
};

type Entry = readonly [volumeId: string, attachmentId: string];

/** Imports the single file of earlier releases, then removes it. */
async function takeOverOneFile(path: string, host: Host, { note }: NewestAttachments): Promise<void> {
  const text = await host.readText(path);
  if (text === undefined) return;
  for (const line of text.split('\n')) {
    const entry = parseJson(line);
    if (isEntry(entry)) await note(...entry);
  }
  await host.removeFile(path);
}

function pathOf(directory: string, volumeId: string): string {
  return `${directory}/${hash('sha256', volumeId).slice(0, 2)}.jsonl`;
}

async function orUnavailable<T>(verb: string, volumeId: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const detail = `cannot ${verb} the attachment of volume "${volumeId}": ${reasonOf(error)}`;
    throw unavailableProblem(detail, error);
  }
}

function toLine(entry: Entry): string {
  return `${JSON.stringify(entry)}\n`;
}

function isEntry(value: unknown): value is Entry {
  return Array.isArray(value) && value.length === 2 && value.every(one => typeof one === 'string');
}
