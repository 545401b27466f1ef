import type { StorageClient } from '../api/client.ts';
import { asProblem, Problem } from '../api/problem.ts';
import type { Capabilities } from '../api/storage.ts';
import type { Log } from '../lib/log.ts';

/** What the storage behind the gateway can do, as soon as the gateway has told. */
export interface CapabilitySource {
  /** Throws UNAVAILABLE, with the reason, until the gateway has answered once. */
  get(): Capabilities;
  isKnown(): boolean;
  /** Stops asking. */
  close(): void;
}

const askTimeoutMs = 10_000;
const firstPauseMs = 250;
const longestPauseMs = 15_000;

/** Asks the gateway until it answers, with growing, uneven pauses; then tells `learned`, and keeps the answer, which must not change under a running plugin. */
export function createCapabilitySource(
  client: StorageClient,
  log: Log,
  learned: (capabilities: Capabilities) => void = () => {},
): CapabilitySource {
  let known: Capabilities | undefined;
  let reason = 'it was not asked yet';
  let timer: NodeJS.Timeout | undefined;
  let closed = false;

  async function ask(pauseMs: number): Promise<void> {
    try {
      known = await client.getCapabilities({}, { deadlineMs: Date.now() + askTimeoutMs });
      log.info('the gateway told its capabilities', {
        detail: known.pools.map(({ name, backend }) => `${name} (${backend})`).join(', '),
      });
      learned(known);
    } catch (error) {
      if (closed) return;
      reason = asProblem(error).detail;
      log.warn('the gateway did not tell its capabilities', { detail: reason });
      timer = setTimeout(
        () => void ask(Math.min(pauseMs * 2, longestPauseMs)),
        pauseMs * (0.5 + Math.random()),
      );
    }
  }

  void ask(firstPauseMs);
  return {
    get() {
      if (!known) throw new Problem('UNAVAILABLE', `the gateway has not told what it can do: ${reason}`);
      return known;
    },
    isKnown: () => known !== undefined,
    close() {
      closed = true;
      clearTimeout(timer);
    },
  };
}
