import { asProblem, unavailableProblem } from '../../../src/api/problem.ts';
import type { Reach } from '../../../src/api/attachment.ts';
import { accessModes } from '../../../src/api/storage.ts';
import type { Log } from '../../../src/lib/log.ts';
import type { NodeAccess } from '../../backend.ts';
import type { Export, ExportedAttachment, ExportedVolume } from '../../export.ts';
import type { Names } from './names.ts';

/** One kind of targets. All is named by the target's name, without what a protocol puts before it. */
export interface TargetDriver extends Pick<Export, 'protocol'> {
  /** What a target is called in messages. */
  readonly noun: string;
  /** Readies what has the targets; comes before all else, once. */
  prepare(): Promise<void>;
  /** The names of all that is there of targets of this pool, whole or not. */
  list(): readonly string[] | Promise<readonly string[]>;
  /** Makes the target, or completes it; one that nodes use is not disturbed. */
  make(name: string, target: ExportedAttachment): void | Promise<void>;
  /** Ends what the node has in flight, and removes the target; what is not there is fine. */
  remove(name: string): Promise<void>;
  /** Absent where nodes see a new size when they connect. */
  resize?(name: string, volume: ExportedVolume): void | Promise<void>;
  reach(name: string, target: ExportedAttachment): Reach;
}

/** How many targets are made at a time at a start, where that takes programs, or waits. */
const mostAtOnce = 8;

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
    return [...new Set(await driver.list())].filter(name => names.isOfPool(name) && isWanted(name));
  };

  /** Reads back that nothing is left. */
  async function removeWhere(isWanted: (name: string) => boolean): Promise<void> {
    const found = await listWhere(isWanted);
    if (found.length === 0) return;
    // What one does not give back keeps no other.
    const outcomes = await Promise.allSettled(found.map(name => driver.remove(name)));
    const failed = outcomes.find(outcome => outcome.status === 'rejected');
    if (failed) throw failed.reason;
    const left = await listWhere(isWanted);
    if (left.length > 0) throw unavailableProblem(`${noun} "${left.join('", "')}" is still there`);
  }

  async function publish(volume: ExportedVolume, access: NodeAccess): Promise<Reach> {
    const name = names.nameOf(volume, access);
    await removeWhere(other => other !== name && names.isOfNode(other, volume, access));
    await driver.make(name, { volume, access });
    return driver.reach(name, { volume, access });
  }

  async function makeOrLog(target: ExportedAttachment): Promise<void> {
    const { volume, access } = target;
    try {
      await driver.make(names.nameOf(volume, access), target);
    } catch (error) {
      const { code, detail } = asProblem(error);
      log.error('a volume that is attached cannot be exported', { volumeId: volume.id, code, detail });
    }
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
        await driver.resize?.(name, volume);
    },
    async restore(attached) {
      const wanted = await Array.fromAsync(attached);
      const known = new Set(wanted.map(({ volume, access }) => names.nameOf(volume, access)));
      const orphans = await listWhere(name => !known.has(name));
      if (orphans.length > 0)
        log.warn('targets that are in no record are removed', { count: orphans.length });
      await removeWhere(name => !known.has(name)).catch((error: unknown) => {
        const { code, detail } = asProblem(error);
        log.error('a target that is in no record cannot be removed', { code, detail });
      });
      const next = wanted.values();
      const makeNext = async (): Promise<void> => {
        for (const target of next) await makeOrLog(target);
      };
      await Promise.all(Array.from({ length: mostAtOnce }, makeNext));
      if (wanted.length > 0) log.info('what is attached is exported', { count: wanted.length });
    },
  };
}
