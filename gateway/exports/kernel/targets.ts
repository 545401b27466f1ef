import { asProblem, unavailableProblem } from '../../../src/api/problem.ts';
import type { Reach } from '../../../src/api/attachment.ts';
import { accessModes } from '../../../src/api/storage.ts';
import { pause, withinTime } from '../../../src/lib/concurrency.ts';
import type { Log } from '../../../src/lib/log.ts';
import type { NodeAccess } from '../../backend.ts';
import type { Export, ExportedAttachment, ExportedVolume } from '../../export.ts';
import type { Names } from './names.ts';

/** One kind of the kernel's targets. All is named by the target's name, without what a protocol puts before it. */
export interface TargetDriver extends Pick<Export, 'protocol'> {
  /** What a target is called in messages. */
  readonly noun: string;
  /** Readies the kernel; comes before all else, once. */
  prepare(): Promise<void>;
  /** The names of all that is there of targets of this pool, whole or not. */
  list(): readonly string[];
  /** Makes the target, or completes it; one that nodes use is not disturbed. */
  make(name: string, target: ExportedAttachment): void;
  /** Ends what the node has in flight, and removes the target; what is not there is fine. */
  remove(name: string): Promise<void>;
  resize(name: string, volume: ExportedVolume): void;
  reach(name: string, target: ExportedAttachment): Reach;
}

/** The export of a pool by targets of one kind; `prepare` runs before the first of them is made, removed or counted. */
export function exportTargets(
  { protocol, noun, ...driver }: TargetDriver,
  { names, log }: { readonly names: Names; readonly log: Log },
): Required<Omit<Export, 'check' | 'close'>> {
  let preparing: Promise<void> | undefined;
  const prepare = (): Promise<void> =>
    (preparing ??= driver.prepare().catch((error: unknown) => {
      preparing = undefined;
      throw error;
    }));
  const listWhere = async (isWanted: (name: string) => boolean): Promise<readonly string[]> => {
    await prepare();
    return [...new Set(driver.list())].filter(name => names.isOfPool(name) && isWanted(name));
  };

  /** Reads back that nothing is left. */
  async function removeWhere(isWanted: (name: string) => boolean): Promise<void> {
    const found = await listWhere(isWanted);
    if (found.length === 0) return;
    await Promise.all(found.map(name => driver.remove(name)));
    const left = await listWhere(isWanted);
    if (left.length > 0) throw unavailableProblem(`${noun} "${left.join('", "')}" is still there`);
  }

  async function publish(volume: ExportedVolume, access: NodeAccess): Promise<Reach> {
    const name = names.nameOf(volume, access);
    await removeWhere(other => other !== name && names.isOfNode(other, volume, access));
    driver.make(name, { volume, access });
    return driver.reach(name, { volume, access });
  }

  return {
    protocol,
    // By many nodes only where none writes, or all write to the raw device.
    accessModes: accessModes.filter(mode => mode !== 'MULTI_NODE_SINGLE_WRITER'),
    publish,
    withdraw: (volume, nodeId, cluster) =>
      removeWhere(name =>
        names.isOfNode(name, volume, { nodeId, ...(cluster !== undefined && { cluster }) }),
      ),
    async users(volume) {
      const found = await listWhere(name => names.isOfVolume(name, volume));
      return found.map(name => `${noun} "${name}"`);
    },
    async resize(volume) {
      for (const name of await listWhere(other => names.isOfVolume(other, volume)))
        driver.resize(name, volume);
    },
    async restore(attached) {
      const wanted = await Array.fromAsync(attached);
      const known = new Set(wanted.map(({ volume, access }) => names.nameOf(volume, access)));
      const orphans = await listWhere(name => !known.has(name));
      if (orphans.length > 0)
        log.warn('targets that are in no record are removed', { count: orphans.length });
      await removeWhere(name => !known.has(name));
      for (const { volume, access } of wanted)
        try {
          driver.make(names.nameOf(volume, access), { volume, access });
        } catch (error) {
          const { code, detail } = asProblem(error);
          log.error('a volume that is attached cannot be exported', { volumeId: volume.id, code, detail });
        }
      if (wanted.length > 0) log.info('what is attached is exported', { count: wanted.length });
    },
  };
}

/** How long what a node has in flight may take to end by itself, and after its connection was cut, in milliseconds. */
const [drainMs, cutMs] = [500, 20_000];
/** How long a node that lives has its connection to learn of it: without one its I/O would wait, and not fail. */
const noticeMs = 40;

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
