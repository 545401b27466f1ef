import { asProblem } from '../../src/api/problem.ts';
import { repeat, type Repetition } from '../../src/lib/concurrency.ts';
import type { Log } from '../../src/lib/log.ts';
import { connectorFor } from '../connectors/index.ts';
import type { Host } from '../host.ts';
import { createWatch } from '../host/stuck-commands.ts';
import type { Records } from './records.ts';

/** What looks after connections needs. */
type Repairing = { readonly host: Host; readonly records: Records; readonly log: Log };

const everyMs = 10_000;

/** Brings lost connections back that nobody else brings back, every ten seconds until it is closed. */
export function startRepair(repairing: Repairing): Repetition {
  const watch = createWatch();
  return repeat(() => repair(repairing, watch), everyMs);
}

/**
 * Brings the lost connections of all volumes back; what fails is logged, and tried again the next time. A protocol with a
 * command that could not be killed is left alone until that is gone, so that stuck commands never pile up.
 */
export async function repair({ host, records, log }: Repairing, watch = createWatch()): Promise<void> {
  const all = records.here().map(({ attachment }) => attachment);
  for (const [protocol, attachments] of Map.groupBy(all, one => one.protocol))
    try {
      const connector = connectorFor({ protocol });
      if (watch.stuck(protocol) || !('repair' in connector)) continue;
      await connector.repair?.(attachments, watch.hostFor(protocol, 'repair', host));
    } catch (error) {
      log.warn(`connections over ${protocol} could not be repaired`, { detail: asProblem(error).detail });
    }
}
