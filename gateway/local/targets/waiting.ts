import { asProblem } from '../../../src/api/problem.ts';
import { forEachAtMost, repeat } from '../../../src/lib/concurrency.ts';
import type { Log } from '../../../src/lib/log.ts';
import type { RecordedAttachment } from '../../export.ts';

/** The attachments that are exported at a time, since a target may need programs or waiting. */
const maxConcurrent = 8;
/** The time between two tries, in milliseconds. */
const againMs = 10_000;

/** Exports the volume of an attachment by the target with this name, unless `isWanted` is false by then. */
type ExportOne = (name: string, attachment: RecordedAttachment, isWanted: () => boolean) => Promise<void>;

/** Creates the list of recorded attachments that are still to be exported after a start, by the names of their targets. */
export function createWaiting(exportOne: ExportOne, log: Log) {
  const waiting = new Map<string, RecordedAttachment>();
  let trying: Promise<void> = Promise.resolve();
  let repeated: ReturnType<typeof repeat> | undefined;

  async function tryOne([name, attachment]: readonly [string, RecordedAttachment], isFirst: boolean) {
    try {
      await exportOne(name, attachment, () => waiting.has(name));
      waiting.delete(name);
    } catch (error) {
      const { code, detail } = asProblem(error);
      if (isFirst)
        log.error('cannot export an attached volume', { volumeId: attachment.volume.id, code, detail });
    }
  }

  async function tryAgain(): Promise<void> {
    if (waiting.size === 0) return;
    trying = forEachAtMost(maxConcurrent, [...waiting], one => tryOne(one, false));
    await trying;
    if (waiting.size === 0) log.info('exported all attached volumes');
  }

  return {
    /** Exports all attachments. What fails is logged once, and tried again until it succeeds or is given up. */
    async start(attachments: ReadonlyMap<string, RecordedAttachment>): Promise<void> {
      for (const [name, attachment] of attachments) waiting.set(name, attachment);
      await forEachAtMost(maxConcurrent, [...waiting], one => tryOne(one, true));
      const count = attachments.size - waiting.size;
      if (count > 0) log.info('exported the attached volumes', { count });
      if (waiting.size > 0) repeated = repeat(tryAgain, againMs);
    },
    /** Gives up the chosen ones. Returns once none of them is being exported. */
    async giveUp(isChosen: (name: string) => boolean): Promise<void> {
      const chosen = [...waiting.keys()].filter(isChosen);
      for (const name of chosen) waiting.delete(name);
      if (chosen.length > 0) await trying;
    },
    close: async (): Promise<void> => repeated?.close(),
  };
}
