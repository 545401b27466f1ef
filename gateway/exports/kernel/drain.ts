import { unavailableProblem } from '../../../src/api/problem.ts';
import { pause, withinTime } from '../../../src/lib/concurrency.ts';

/** How long what a node has in flight may take to end by itself, and after its connection was cut, in milliseconds. */
const [drainMs, cutMs] = [500, 20_000];
/** How long a node that lives has its connection to learn of it: without one its I/O would wait, and not fail. */
const noticeMs = 30;

/**
 * Closes the way to the data by work of the kernel that ends once nothing is in flight, and then cuts the connection. A node
 * that stands still, having announced data that it does not send, would hold the work up for as long as its connection
 * lives, which is cut then first.
 */
export async function drain(work: Promise<void>, cut: () => Promise<void>): Promise<void> {
  const isDrained = await withinTime(work, drainMs);
  if (isDrained) await pause(noticeMs);
  await cut();
  if (!isDrained && !(await withinTime(work, cutMs)))
    throw unavailableProblem('the kernel still waits for I/O of the node to end');
}
