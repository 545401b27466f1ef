import { isForNodes, isKubernetes } from '../../../src/api/filesystems.ts';
import { createPageGuard } from '../../../src/api/http/page-guard.ts';
import { preconditionProblem, unavailableProblem } from '../../../src/api/problem.ts';
import { hasFeature, type Feature } from '../../../src/api/storage.ts';
import type { Volume } from '../../../src/api/volume.ts';
import type { PoolContext, SnapshotRef, VolumeRef } from '../../backend.ts';
import type { Names } from './names.ts';
import type { Offer } from './offer.ts';
import type { Vendor } from './vendor.ts';

/** The parts of a pool's storage; `pool` is the chosen pool if the storage has several. */
type StorageParts = {
  readonly vendor: Vendor;
  readonly names: Names;
  readonly offer: Offer;
  readonly pool: string | undefined;
  readonly requireCaller: PoolContext['requireCaller'];
};

/** A pool's storage: its client, its capabilities, and its resources by the gateway's ids. */
export type Storage = ReturnType<typeof createStorage>;

type Page<Entry> = { readonly entries: readonly Entry[]; readonly nextPageToken?: string | undefined };

export function createStorage({ vendor, names, offer, pool, requireCaller }: StorageParts) {
  /** Yields the entries of all pages. UNAVAILABLE when the list has no end, or the signal aborts first. */
  async function* readPages<Entry>(
    read: (page: { readonly pageToken: string }) => Promise<Page<Entry>>,
    signal?: AbortSignal,
  ): AsyncIterable<Entry> {
    const checkPage = startList(signal);
    for (let pageToken: string | undefined = ''; pageToken !== undefined;) {
      const page: Page<Entry> = await read({ pageToken });
      yield* page.entries;
      pageToken = page.nextPageToken;
      if (pageToken !== undefined) checkPage(page.entries.length, pageToken);
    }
  }

  /**
   * Returns the check of each page of a list before the next one is read. It throws for an endless list, and once the
   * caller has given up or the signal is aborted.
   */
  function startList(signal?: AbortSignal): (count: number, next: string | undefined) => void {
    const guard = createPageGuard({ from: 'the storage', timeoutMs: vendor.listTimeoutMs });
    return (count, next) => {
      guard.judge(count, next);
      requireCaller?.();
      if (signal?.aborted) throw unavailableProblem('a list of the storage did not end in time');
    };
  }

  function listVolumes(signal?: AbortSignal): AsyncIterable<Volume> {
    return readPages(async page => {
      const { volumes: entries, nextPageToken } = await vendor.ask('listVolumes', page);
      return { entries, nextPageToken };
    }, signal);
  }

  /** Finds the ids of a volume at the storage: with a nonce one, otherwise all volumes of that name. */
  async function findIds({ id, nonce = '' }: VolumeRef): Promise<readonly string[]> {
    if (nonce !== '') return [names.idOf({ id, nonce })];
    const found: string[] = [];
    for await (const volume of listVolumes())
      if (volume.name === id && names.isOf(volume.id, id)) found.push(volume.id);
    return found;
  }

  return {
    vendor,
    names,
    offer,
    has: (feature: Feature): boolean => hasFeature(offer, feature),
    readPages,
    startList,
    listVolumes,
    findIds,
    /**
     * Returns the id of a volume at the storage. FAILED_PRECONDITION when the reference has no nonce and the storage
     * has no volume of that name.
     */
    async requireId(volume: VolumeRef): Promise<string> {
      const [id] = await findIds(volume);
      if (id === undefined) throw preconditionProblem(`the storage has no volume "${volume.id}"`);
      return id;
    },
    /** Returns a snapshot's id at the storage; FAILED_PRECONDITION when a group there has no such member. */
    async requireSnapshotId({ id, nonce = '', group }: SnapshotRef): Promise<string> {
      if (!group) return names.idOf({ id, nonce });
      const { snapshots } = await vendor.ask('getGroup', { groupId: names.idOf({ id: group.id, nonce }) });
      const found = snapshots[group.member];
      if (!found) throw preconditionProblem(`the storage has no snapshot "${id}"`);
      return found.id;
    },
    /** Returns the parameters for the storage, which are neither for nodes nor Kubernetes' own, and the chosen pool. */
    ownParameters(parameters: Readonly<Record<string, string>> = {}): Record<string, string> {
      const own = Object.entries(parameters).filter(([key]) => !isForNodes(key) && !isKubernetes(key));
      return { ...Object.fromEntries(own), ...(pool !== undefined && { pool }) };
    },
  };
}
