import { unavailableProblem } from '../../src/api/problem.ts';
import { parseJson } from '../../src/lib/json.ts';
import type { Host } from '../host.ts';

/** The newest attachment of each volume that this node has used, those that have left included. */
export type NewestAttachments = {
  /** Its id; undefined for a volume that was not here, or long ago. */
  get(volumeId: string): string | undefined;
  /** One call at a time. On return the next agent knows it, too; after a crash of the machine perhaps only while the volume's record is there. */
  note(volumeId: string, attachmentId: string): Promise<void>;
};

/** Of how many volumes it is remembered. */
const mostRemembered = 1_000;
/** How many lines the file has at most: it is written anew then. */
const mostLines = 2 * mostRemembered;

/** Reads them from a file with a line for each, which is made with the first. */
export async function openNewestAttachments(path: string, host: Host): Promise<NewestAttachments> {
  const newest = new Map<string, string>();
  const remember = (volumeId: string, attachmentId: string): void => {
    newest.delete(volumeId);
    newest.set(volumeId, attachmentId);
    const [oldest] = newest.keys();
    if (newest.size > mostRemembered && oldest !== undefined) newest.delete(oldest);
  };

  const text = (await host.readText(path)) ?? '';
  const lines = text.split('\n');
  for (const line of lines) {
    const entry = parseJson(line);
    if (isEntry(entry)) remember(...entry);
  }
  // What would be added to a torn line could not be read.
  let count = lines.at(-1) === '' ? lines.length - 1 : mostLines;

  async function write(line: string): Promise<void> {
    if (count < mostLines) {
      const before = count;
      count = mostLines;
      await host.append(path, line);
      count = before + 1;
    } else {
      const all = [...newest].map(toLine).join('');
      await host.writeDurably(path, all + line);
      count = newest.size + 1;
    }
  }

  return {
    get: volumeId => newest.get(volumeId),
    async note(volumeId, attachmentId) {
      try {
        if (newest.get(volumeId) !== attachmentId) await write(toLine([volumeId, attachmentId]));
      } catch (error) {
        const { code = 'unknown error' } = error as NodeJS.ErrnoException;
        throw unavailableProblem(`cannot note the attachment of volume "${volumeId}": ${code}`, error);
      }
      remember(volumeId, attachmentId);
    },
  };
}

type Entry = readonly [volumeId: string, attachmentId: string];

function toLine(entry: Entry): string {
  return `${JSON.stringify(entry)}\n`;
}

function isEntry(value: unknown): value is Entry {
  return Array.isArray(value) && value.length === 2 && value.every(one => typeof one === 'string');
}
