import { unavailableProblem } from '../../src/api/problem.ts';
import { poll, type Seen } from '../../src/lib/concurrency.ts';
import type { Host } from '../host.ts';
import { runWell } from './commands.ts';

const waitMs = 5_000;
const lookMs = 100;

/** What a file of the kernel's says, without white space around it; undefined when there is none. */
export async function readLine(path: string, host: Host): Promise<string | undefined> {
  return (await host.readText(path))?.trim();
}

/** Writes to a file of the kernel's, in a command of its own since that may wait on a device. */
export async function writeLine(path: string, text: string, host: Host): Promise<void> {
  await runWell(host, { command: 'tee', args: ['--', path], input: text });
}

/** Looks again and again until there is something to see; undefined when there is not within five seconds. */
export function waitFor<T extends Seen>(look: () => Promise<T | undefined>): Promise<T | undefined> {
  return poll(look, { everyMs: lookMs, timeoutMs: waitMs });
}

/**
 * Has something removed, which is named in words, and waits until `isThere` is false; UNAVAILABLE when it still is true after five
 * seconds. A removal that fails because the kernel removes the same by itself meanwhile is fine.
 */
export async function removeWith(
  remove: () => Promise<unknown>,
  what: string,
  isThere: () => Promise<boolean>,
): Promise<void> {
  await remove().catch(async (error: unknown) => {
    if (await isThere()) throw error;
  });
  const isGone = await waitFor(async () => !(await isThere()) || undefined);
  if (!isGone) throw unavailableProblem(`${what} is still there after it was removed`);
}

/** Those for which the question is answered with true, in their order; it is asked for all at once. */
export async function filterAsync<T>(
  items: readonly T[],
  question: (item: T) => Promise<boolean>,
): Promise<readonly T[]> {
  const answers = await Promise.all(items.map(question));
  return items.filter((_, index) => answers[index]);
}
