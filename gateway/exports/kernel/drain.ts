import { pause, withinTime } from '../../../src/lib/concurrency.ts';
import { boundCalls } from './bounded-calls.ts';

/** How long what a node has in flight may take to end by itself, and how long the work may wait and take, in milliseconds. */
const [drainMs, timeoutMs] = [500, 60_000];
/** How long a node that lives has its connection to learn of it: without one its I/O would wait, and not fail. */
const noticeMs = 30;

/** One fewer than the tree does at once: what these wait for is a call, too. */
const boundedDrains = boundCalls({ atOnce: 2, timeoutMs });

/** What closes the way to the data, with its name for messages, and what cuts the node's connection. */
type Closing = {
  readonly what: string;
  readonly work: () => Promise<void>;
  readonly cut: () => Promise<void>;
};

/**
 * Closes the way to the data by work of the kernel that ends once nothing is in flight, and then cuts the connection. A node
 * that stands still, having announced data that it does not send, would hold the work up for as long as its connection
 * lives, which is cut then first. UNAVAILABLE where it does not end then either, as over a disk that hangs.
 */
export async function drain({ what, work, cut }: Closing, bounded = boundedDrains): Promise<void> {
  const begun = Promise.withResolvers<void>();
  const working = bounded.run(what, () => {
    begun.resolve();
    return work();
  });
  await Promise.race([begun.promise, working]);
  const isDrained = await withinTime(working, drainMs);
  if (isDrained) await pause(noticeMs);
  await cut();
  await working;
}
