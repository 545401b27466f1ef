import { isDeepStrictEqual } from 'node:util';
import { asProblem, Problem } from '../api/problem.ts';
import { forEachAtMost } from '../lib/concurrency.ts';
import type { Log } from '../lib/log.ts';
import { toPage } from '../sdk/server/vendor.ts';
import { createDriverGroup, createDriverSnapshot } from './driver-snapshots.ts';
import { createDriverVolume } from './driver-volumes.ts';
import { isOpen, isUnnamed, type Bridge } from './driver.ts';
import {
  isCreated,
  type CreatedKind,
  type Page,
  type CreatedResource,
  type Made,
  type RecordOf,
} from './records.ts';

/** The functions that ask the driver for a resource. The driver makes it once, however often it is asked. */
const makers: { readonly [K in CreatedKind]: (bridge: Bridge, wanted: RecordOf<K>) => Promise<Made<K>> } = {
  volume: createDriverVolume,
  snapshot: createDriverSnapshot,
  group: createDriverGroup,
};

/** The pieces of interrupted work that are finished at a time. */
const maxConcurrent = 8;

/** Creates the work on resources of a kind: their records, and their creation and deletion at the driver. */
export function createResources<K extends CreatedKind>(bridge: Bridge, kind: K) {
  const { records } = bridge;

  /** NOT_FOUND if there is no record. */
  function require(id: string): RecordOf<K> {
    const found = records.find(kind, id);
    if (found) return found;
    throw new Problem('NOT_FOUND', `there is no ${kind} "${id}"`);
  }

  /** Asks the driver for the resource, and records it. After a final refusal nothing is left. */
  async function finish(wanted: RecordOf<K>): Promise<CreatedResource<K>> {
    const made = await makers[kind](bridge, wanted).catch((error: unknown) => {
      if (!wanted.made && !isOpen(error) && !isUnnamed(error)) records.drop(kind, wanted.id);
      throw error;
    });
    const created = { ...wanted, made };
    records.put(kind, created);
    return created;
  }

  /**
   * Asks again for a snapshot or a group that was not ready, as external-snapshotter does. The driver tells of a group's
   * snapshots with the group.
   */
  async function refresh(known: CreatedResource<K>): Promise<CreatedResource<K>> {
    const isWaiting = 'isReady' in known.made && !known.made.isReady && !('groupId' in known);
    return isWaiting ? finish(known) : known;
  }

  /**
   * Creates again what never answered, since only the driver knows its handle. Undefined if the driver refuses: then it has
   * made nothing. A driver that names no reason is asked twice, since it may fail after its work.
   */
  async function findUnanswered(wanted: RecordOf<K>): Promise<CreatedResource<K> | undefined> {
    try {
      return await finish(wanted).catch((error: unknown) => {
        if (isUnnamed(error)) return finish(wanted);
        throw error;
      });
    } catch (error) {
      if (isOpen(error)) throw error;
      return undefined;
    }
  }

  return {
    require,
    finish,
    refresh,

    /** NOT_FOUND if there is no record, ABORTED while the driver makes the resource. */
    requireCreated(id: string): CreatedResource<K> {
      const found = require(id);
      if (isCreated(found)) return found;
      throw new Problem('ABORTED', `${kind} "${id}" is being created; try again later`);
    },

    /**
     * Returns the resource of an earlier equal request, or creates it; `toNew` may return one that is there already, and
     * recorded. The record is written before the driver is asked, so that a later call can finish the creation.
     * ALREADY_EXISTS if an earlier request differs.
     */
    async create(id: string, spec: RecordOf<K>['spec'], toNew: () => Promise<RecordOf<K>> | RecordOf<K>) {
      const found = records.find(kind, id);
      if (found && !isDeepStrictEqual(identityOf(found.spec), identityOf(spec)))
        throw existsProblem(kind, id);
      if (found && isCreated(found)) return [200, await refresh(found)] as const;
      const wanted = found ?? (await toNew());
      if (isCreated(wanted)) return [201, wanted] as const;
      records.put(kind, wanted);
      return [201, await finish(wanted)] as const;
    },

    /** Deletes the resource with `work`, and its record. */
    async remove(id: string, work: (created: CreatedResource<K>) => Promise<unknown>): Promise<void> {
      const found = records.find(kind, id);
      if (!found) return;
      const created = isCreated(found) ? found : await findUnanswered(found);
      if (created) await work(created);
      records.drop(kind, id);
    },
  };
}

/**
 * Finishes the work that the end of an earlier bridge has interrupted, since nobody may ask for it again. Work that fails
 * stays until it is asked for.
 */
export async function finishInterrupted(bridge: Bridge, log: Log): Promise<void> {
  const works = (['volume', 'snapshot', 'group'] as const).flatMap(kind => {
    const { finish } = createResources<CreatedKind>(bridge, kind);
    return bridge.records.unfinished(kind).map(one => () => finish(one));
  });
  await forEachAtMost(maxConcurrent, works, async work => {
    await work().catch((error: unknown) =>
      log.warn('cannot finish interrupted work', { detail: asProblem(error).detail }),
    );
  });
}

export function existsProblem(kind: CreatedKind, id: string): Problem {
  return new Problem('ALREADY_EXISTS', `${kind} "${id}" exists with other settings`);
}

/** The members of a request that may differ in a repetition. Sizes are compared with the size of the volume. */
const free: ReadonlySet<string> = new Set(['requiredBytes', 'limitBytes', 'capabilities', 'topology']);

function identityOf(spec: RecordOf<CreatedKind>['spec']): object {
  const members = Object.entries({ parameters: {}, mutableParameters: {}, ...spec });
  return Object.fromEntries(members.filter(([name]) => !free.has(name)));
}

type PageRequest = { readonly limit: number; readonly pageToken?: string | undefined };

/** Makes one page of the records that `read` reads, sorted by id. */
export function readPage<T extends { readonly id: string }>(
  { limit, pageToken = '' }: PageRequest,
  read: (page: Page) => readonly T[],
) {
  // A token of `toPage` ends with the last id of the page before. It refuses any other token itself.
  const after = pageToken.slice(pageToken.indexOf(':') + 1);
  return toPage(read({ after, limit: limit + 1 }), { limit, ...(pageToken && { pageToken }) });
}
