import { pause, withinTime } from '../../../src/lib/concurrency.ts';
import { boundCalls } from './bounded-calls.ts';

/** The time for I/O in flight to end by itself, and the limit for the work, waiting included, in milliseconds. */
const [drainMs, timeoutMs] = [500, 60_000];
/**
 * The time for a live node to notice before its connection is cut. Without a connection its I/O would wait and not
 * fail.
 */
const noticeMs = 30;

/** One fewer than the configfs calls that may run at once, because each drain waits for such a call. */
const boundedDrains = boundCalls({ maxCalls: 2, timeoutMs });

/**
 * The kernel's work that closes the data path, its name for messages, and the function that cuts the node's
 * connection.
 */
type DataPath = {
  readonly what: string;
  readonly work: () => Promise<void>;
  readonly cut: () => Promise<void>;
};

/**
 * Closes the data path. The kernel's work ends once no I/O is in flight; then the connection is cut. A paused node
 * that has announced data but does not send it would hold up the work for as long as its connection lives, so the
 * connection is cut first after `drainMs`. UNAVAILABLE if the work does not end even then, for example on a hanging
 * disk.
 */
export async function drain({ what, work, cut }: DataPath, bounded = boundedDrains): Promise<void> {
  const started = Promise.withResolvers<void>();
  const working = bounded.run(what, () => {
    started.resolve();
    return work();
  });
  await Promise.race([started.promise, working]);
  const isDrained = await withinTime(working, drainMs);
  if (isDrained) await pause(noticeMs);
  await cut();
  await working;
}
