import { asProblem, unavailableProblem } from '../../../src/api/problem.ts';
import type { Reach } from '../../../src/api/attachment.ts';
import { accessModes } from '../../../src/api/storage.ts';
import type { Log } from '../../../src/lib/log.ts';
import type { NodeAccess } from '../../backend.ts';
import type { Export, ExportedAttachment, ExportedVolume, RecordedAttachment } from '../../export.ts';
import type { Names } from './names.ts';
import { createWaiting } from './waiting.ts';

/** A kind of targets. Names are without the protocol's prefix. */
export interface TargetDriver extends Pick<Export, 'protocol'> {
  readonly noun: string;
  /** Prepares the machine. Called once, before any other call. */
  prepare(): Promise<void>;
  /** Lists the names of this pool's targets, including incomplete ones. */
  list(): readonly string[] | Promise<readonly string[]>;
  /** Creates the target, or completes it. A target that nodes use is not disturbed. */
  create(name: string, target: ExportedAttachment): void | Promise<void>;
  /** Ends the node's I/O in flight and removes the target. A missing target succeeds. */
  remove(name: string): Promise<void>;
  resize(name: string, volume: ExportedVolume): void | Promise<void>;
  reach(name: string, target: ExportedAttachment): Reach;
}

/**
 * Exports a pool's volumes by targets of one kind. `prepare` runs before the first target is created, removed or
 * counted.
 */
export function exportTargets(
  { protocol, noun, ...driver }: TargetDriver,
  { names, log }: { readonly names: Names; readonly log: Log },
): Required<Omit<Export, 'addresses' | 'check'>> {
  let preparing: Promise<void> | undefined;
  const prepare = (): Promise<void> =>
    (preparing ??= driver.prepare().catch((error: unknown) => {
      preparing = undefined;
      throw error;
    }));
  const listWhere = async (isChosen: (name: string) => boolean): Promise<readonly string[]> => {
    await prepare();
    return [...new Set(await driver.list())].filter(name => names.isOfPool(name) && isChosen(name));
  };

  /** Removes the chosen targets, and checks afterwards that none is left. Throws the first failure, or UNAVAILABLE. */
  async function removeWhere(isChosen: (name: string) => boolean): Promise<void> {
    const found = await listWhere(isChosen);
    if (found.length === 0) return;
    // A target that cannot be removed does not keep the others.
    const outcomes = await Promise.allSettled(found.map(name => driver.remove(name)));
    const failed = outcomes.find(outcome => outcome.status === 'rejected');
    if (failed) throw failed.reason;
    const left = await listWhere(isChosen);
    if (left.length > 0)
      throw unavailableProblem(`${noun} "${left.join('", "')}" still exists after its removal`);
  }

  async function publish(volume: ExportedVolume, access: NodeAccess): Promise<Reach> {
    const name = names.nameOf(volume, access);
    await waiting.giveUp(other => names.isOfNode(other, volume, access));
    await removeWhere(other => other !== name && names.isOfNode(other, volume, access));
    await driver.create(name, { volume, access });
    const { mayReplay } = access;
    return { ...driver.reach(name, { volume, access }), ...(mayReplay && { mayReplay }) };
  }

  const waiting = createWaiting(async (name, { find, ...rest }, isWanted) => {
    const volume = await find();
    if (isWanted()) await driver.create(name, { ...rest, volume });
  }, log);

  return {
    protocol,
    // Many nodes may use a volume only if none writes, or all write to the raw device.
    accessModes: accessModes.filter(mode => mode !== 'MULTI_NODE_SINGLE_WRITER'),
    publish,
    async withdraw(volume, nodeId, cluster) {
      const isOfNode = (name: string): boolean =>
        names.isOfNode(name, volume, { nodeId, ...(cluster !== undefined && { cluster }) });
      await waiting.giveUp(isOfNode);
      await removeWhere(isOfNode);
    },
    async users(volume) {
      const found = await listWhere(name => names.isOfVolume(name, volume));
      return found.map(name => `${noun} "${name}"`);
    },
    async resize(volume) {
      for (const name of await listWhere(other => names.isOfVolume(other, volume)))
        await driver.resize(name, volume);
    },
    async restore(attached) {
      const known = new Map<string, RecordedAttachment>();
      for await (const one of attached) known.set(names.nameOf(one.volume, one.access), one);
      const orphans = await listWhere(name => !known.has(name));
      if (orphans.length > 0) log.warn('removing targets without a record', { count: orphans.length });
      await removeWhere(name => !known.has(name)).catch((error: unknown) => {
        const { code, detail } = asProblem(error);
        log.error('cannot remove a target without a record', { code, detail });
      });
      await waiting.start(known);
    },
    close: waiting.close,
  };
}
