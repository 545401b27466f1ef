import { setTimeout as sleep } from 'node:timers/promises';
import type { Attachment, Protocol } from '../../src/api/attachment.ts';
import { asProblem } from '../../src/api/problem.ts';
import type { Log } from '../../src/lib/log.ts';
import { deviceConnectorFor, shareConnectorFor } from '../connectors/index.ts';
import type { Host } from '../host.ts';
import type { Records } from './records.ts';
import { createWatch } from '../host/stuck-commands.ts';

/** What looks after connections needs. */
export type Repairing = { readonly host: Host; readonly records: Records; readonly log: Log };

const pauseMs = 10_000;

/** Sees to connections that nobody else keeps, every ten seconds, until the returned function is called. */
export function startRepair(repairing: Repairing): () => void {
  const end = new AbortController();
  const watch = createWatch();
  void (async () => {
    while (!end.signal.aborted) {
      await sleep(pauseMs, undefined, { ref: false, signal: end.signal }).catch(() => {});
      if (!end.signal.aborted) await repair(repairing, watch);
    }
  })();
  return () => end.abort();
}

/**
 * Sees to the connections of all volumes once; what fails is logged, and tried again the next time. A protocol with a
 * command that could not be killed is left alone until that is gone, so that stuck commands never pile up.
 */
export async function repair({ host, records, log }: Repairing, watch = createWatch()): Promise<void> {
  const groups = new Map<Protocol, Attachment[]>();
  for (const { attachment } of records.here()) {
    if (shareConnectorFor(attachment)) continue;
    groups.set(attachment.protocol, [...(groups.get(attachment.protocol) ?? []), attachment]);
  }
  for (const [protocol, attachments] of groups)
    try {
      const [first] = attachments;
      if (!first || watch.stuck(protocol)) continue;
      await deviceConnectorFor(first).repair?.(attachments, watch.hostFor(protocol, 'repair', host));
    } catch (error) {
      log.warn(`connections over ${protocol} could not be seen to`, { detail: asProblem(error).detail });
    }
}
