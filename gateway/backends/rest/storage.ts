import { isForNodes, isKubernetes } from '../../../src/api/filesystems.ts';
import { createPageGuard } from '../../../src/api/http/page-guard.ts';
import { preconditionProblem, unavailableProblem } from '../../../src/api/problem.ts';
import type { Capabilities } from '../../../src/api/storage.ts';
import type { Volume } from '../../../src/api/volume.ts';
import type { VolumeRef } from '../../backend.ts';
import { requireCaller } from '../../scheduling/current-request.ts';
import type { Names } from './names.ts';
import type { Vendor } from './vendor.ts';

/** The storage's name in messages. */
export const storageNoun = 'the storage';

/** The capabilities of the chosen pool of the storage. */
export type Offer = Omit<Capabilities, 'version' | 'pools'>;

/**
 * A pool's storage: its client, the ids of resources there, its capabilities, and the chosen pool if it has several.
 */
export type Storage = {
  readonly vendor: Vendor;
  readonly names: Names;
  readonly offer: Offer;
  readonly pool: string | undefined;
};

/** The parameters for the storage: the pool if one is chosen, without parameters for nodes and Kubernetes' own. */
export function ownParameters(
  { pool }: Storage,
  parameters: Readonly<Record<string, string>> = {},
): Record<string, string> {
  const own = Object.entries(parameters).filter(([key]) => !isForNodes(key) && !isKubernetes(key));
  return { ...Object.fromEntries(own), ...(pool !== undefined && { pool }) };
}

/**
 * The id of a volume at the storage. FAILED_PRECONDITION when the reference has no nonce and the storage has no
 * volume of that name.
 */
export async function requireId(storage: Storage, volume: VolumeRef): Promise<string> {
  const [id] = await findIds(storage, volume);
  if (id === undefined) throw preconditionProblem(`the storage has no volume "${volume.id}"`);
  return id;
}

/** The ids of a volume at the storage: with a nonce one, otherwise all volumes of that name. */
export async function findIds(storage: Storage, { id, nonce = '' }: VolumeRef): Promise<readonly string[]> {
  const { names } = storage;
  if (nonce !== '') return [names.idOf({ id, nonce })];
  const found: string[] = [];
  for await (const volume of listVolumes(storage))
    if (volume.name === id && names.isOf(volume.id, id)) found.push(volume.id);
  return found;
}

/** Lists all volumes at the storage. */
export async function* listVolumes({ vendor }: Storage, signal?: AbortSignal): AsyncIterable<Volume> {
  const read: PageReader<Volume> = async page => {
    const { volumes: entries, nextPageToken } = await vendor.ask('listVolumes', page);
    return { entries, nextPageToken };
  };
  yield* readPages(vendor, read, signal);
}

/** One page of any list. */
type Page<Entry> = { readonly entries: readonly Entry[]; readonly nextPageToken?: string | undefined };

/** Reads one page. */
export type PageReader<Entry> = (page: { readonly pageToken: string }) => Promise<Page<Entry>>;

/** Yields the entries of all pages. UNAVAILABLE when the list has no end, or the signal aborts first. */
export async function* readPages<Entry>(
  { listTimeoutMs: timeoutMs }: Vendor,
  read: PageReader<Entry>,
  signal?: AbortSignal,
): AsyncIterable<Entry> {
  const guard = createPageGuard({ from: storageNoun, timeoutMs });
  for (let pageToken: string | undefined = ''; pageToken !== undefined;) {
    const page: Page<Entry> = await read({ pageToken });
    yield* page.entries;
    pageToken = page.nextPageToken;
    if (pageToken === undefined) return;
    guard.judge(page.entries.length, pageToken);
    requireInTime(signal);
  }
}

/** Throws once the caller has given up or the signal is aborted. */
export function requireInTime(signal?: AbortSignal): void {
  requireCaller();
  if (signal?.aborted) throw unavailableProblem(`a list of ${storageNoun} did not end in time`);
}
