import { asProblem } from '../src/api/problem.ts';
import type { Log } from '../src/lib/log.ts';
import type { Attachments } from './attachments.ts';
import { findAttachments } from './records/attachments.ts';
import { listUnfinished, type VolumeRecord } from './records/volumes.ts';
import type { Engine } from './store.ts';
import type { Volumes } from './volumes.ts';

/** Finishes what a gateway began and did not end. */
export interface Recovery {
  /** Goes once over everything that is unfinished and claimed by nobody; returns how many volumes that were. */
  sweep(): Promise<number>;
}

/** What is needed to find and to finish work. */
export type RecoveryOptions = {
  readonly engine: Engine;
  readonly volumes: Volumes;
  readonly attachments: Attachments;
  readonly log: Log;
};

const concurrency = 4;
const pageSize = 100;

/** Makes the recovery. It makes the same calls that a cluster would make again, so it follows the same rules. */
export function createRecovery({ engine, volumes, attachments, log }: RecoveryOptions): Recovery {
  async function finish({ id, cluster, state, name, spec }: VolumeRecord): Promise<void> {
    if (state === 'creating') await volumes.create(cluster, id, { name, ...spec });
    if (state === 'deleting') await volumes.delete(cluster, id);
    for (const attachment of await findAttachments(engine.reader, id)) {
      const { nodeId, capability, readonly } = attachment;
      // The node was accepted when the work was begun.
      const key = {
        cluster: { name: attachment.cluster, acceptAnyNode: true },
        volumeId: id,
        nodeId,
      };
      if (attachment.state === 'attaching') await attachments.attach(key, { capability, readonly });
      if (attachment.state === 'detaching') await attachments.detach(key);
    }
  }

  async function tryFinish(volume: VolumeRecord): Promise<void> {
    const { id: volumeId, cluster } = volume;
    try {
      await finish(volume);
      log.info('finished what was left unfinished', { volumeId, cluster });
    } catch (error) {
      const { code, detail } = asProblem(error);
      log.warn('could not finish what was left unfinished', { volumeId, cluster, code, detail });
    }
  }

  return {
    async sweep() {
      let count = 0;
      let afterId = '';
      for (;;) {
        const page = await listUnfinished(engine.reader, { afterId, limit: pageSize, nowMs: Date.now() });
        const queue = page.values();
        const drain = async (): Promise<void> => {
          for (const volume of queue) await tryFinish(volume);
        };
        await Promise.all(Array.from({ length: concurrency }, drain));
        count += page.length;
        if (page.length < pageSize) return count;
        afterId = page.at(-1)?.id ?? afterId;
      }
    },
  };
}
