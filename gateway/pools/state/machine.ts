import { silentLog } from '../../../src/lib/log.ts';
import { withinTime } from '../../../src/lib/concurrency.ts';
import type { BackendPlugin, PoolContext } from '../../backend.ts';
import { reasonOf, withoutPoolName } from './waiting.ts';

/** Returns what this machine lacks for a pool, one line each; undefined if its backend does not check the machine. */
export type MachineCheck = () => Promise<readonly string[] | undefined>;

/** The machine is checked again after this time, in milliseconds, when somebody asks. */
const againMs = 30_000;
/** The first caller waits for the result at most this time, in milliseconds; others get the last one. */
const waitMs = 2_000;

/** Creates the check of this machine for a pool with these settings. */
export function createMachineCheck(
  plugin: Pick<BackendPlugin, 'check' | 'checksStorageOnly' | 'missingFeatures'>,
  settings: unknown,
  context: PoolContext,
): MachineCheck {
  let begunMs = -Infinity;
  let known: Promise<readonly string[]> | undefined;
  let last: readonly string[] | undefined;
  const quiet = { ...context, log: silentLog };

  async function find(): Promise<readonly string[]> {
    const faults = (await plugin.check?.(settings, quiet)) ?? [];
    return faults.length > 0 ? faults : ((await plugin.missingFeatures?.(settings)) ?? []);
  }

  if (!plugin.check || plugin.checksStorageOnly) return async () => undefined;
  return async () => {
    if (performance.now() - begunMs >= againMs) {
      begunMs = performance.now();
      known = find().catch((error: unknown) => [reasonOf(error)]);
      void known.then(lines => (last = lines.map(line => withoutPoolName(context.name, line))));
    }
    if (!last && known) await withinTime(known, waitMs);
    return last;
  };
}
