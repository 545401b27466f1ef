import { unavailableProblem } from '../../src/api/problem.ts';
import { poll, type PollResult } from '../../src/lib/concurrency.ts';
import type { Host } from '../host.ts';
import { runWell } from './commands.ts';

const waitMs = 5_000;
const lookMs = 100;

/** Reads a file of the kernel, without outer white space; undefined if the file does not exist. */
export async function readLine(path: string, host: Host): Promise<string | undefined> {
  return (await host.readText(path))?.trim();
}

/** Writes to a file of the kernel with a command, since the write may block on a device. */
export async function writeLine(path: string, text: string, host: Host): Promise<void> {
  await runWell(host, { command: 'tee', args: ['--', path], input: text });
}

/** Lists the names of loop devices with a file. Only these have a size, so the hundreds of unused ones are not opened. */
export async function namesWithFile(host: Host): Promise<readonly string[]> {
  const sized = (await host.readText('/proc/partitions')) ?? '';
  return [...sized.matchAll(/ (loop\d+)$/gm)].map(([, name = '']) => name);
}

/**
 * Reads the path of a loop device's file from sysfs. Use it for messages and to detect changes, not to identify the file.
 * `device` is the device's path in sysfs.
 */
export async function readBacking(device: string, host: Host): Promise<string | undefined> {
  return (await host.readText(`${device}/loop/backing_file`))?.replace(/\n$/, '');
}

/** Finds the kernel's name of the device that has this name below /dev/mapper; returns the name as it is if no device has it. */
export async function findMapped(name: string, host: Host): Promise<string> {
  for (const kernelName of await host.list('/sys/class/block'))
    if ((await readLine(`/sys/class/block/${kernelName}/dm/name`, host)) === name) return kernelName;
  return name;
}

/** Repeats a look until it finds something; returns undefined after five seconds. */
export function waitFor<T extends PollResult>(look: () => Promise<T | undefined>): Promise<T | undefined> {
  return poll(look, { everyMs: lookMs, timeoutMs: waitMs });
}

/** Maximum wait for a removal without a visible user, in milliseconds: starting containers hold copies of mounts for seconds. */
const goneMs = 30_000;

type Removal = {
  /** The name in messages. */
  readonly what: string;
  readonly isThere: () => Promise<boolean>;
  /** Describes a visible user of the object. */
  readonly findUser?: () => Promise<string | undefined>;
};

/**
 * Removes an object and waits until it is gone. UNAVAILABLE after five seconds if it has a visible user, otherwise after half a
 * minute. A failed removal is no error if the object vanishes anyway.
 */
export async function removeWith(
  remove: () => Promise<unknown>,
  { what, isThere, findUser }: Removal,
): Promise<void> {
  await remove().catch(async (error: unknown) => {
    if (await isThere()) throw error;
  });
  const look = async () => !(await isThere()) || undefined;
  if (await waitFor(look)) return;
  const user = await findUser?.();
  if (user === undefined && (await poll(look, { everyMs: lookMs, timeoutMs: goneMs - waitMs }))) return;
  const why =
    user === undefined
      ? 'the kernel keeps it for a user that the agent cannot see, such as a frozen filesystem'
      : `it is held by ${user}`;
  throw unavailableProblem(`${what} still exists after it was removed: ${why}`);
}

/** Filters items by an asynchronous question, which is asked for all items at once. */
export async function filterAsync<T>(
  items: readonly T[],
  question: (item: T) => Promise<boolean>,
): Promise<readonly T[]> {
  const answers = await Promise.all(items.map(question));
  return items.filter((_, index) => answers[index]);
}
