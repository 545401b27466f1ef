import { isForNodes } from '../../../src/api/filesystems.ts';
import { preconditionProblem, unavailableProblem } from '../../../src/api/problem.ts';
import type { Capabilities } from '../../../src/api/storage.ts';
import type { Volume } from '../../../src/api/volume.ts';
import type { VolumeRef } from '../../backend.ts';
import type { Names } from './names.ts';
import type { Vendor } from './vendor.ts';

/** What the storage can do, of the pool that is meant. */
export type Offer = Omit<Capabilities, 'version' | 'pools'>;

/** A pool's storage: who is asked, how things are named there, what it offers, and its pool where it has several. */
export type Storage = {
  readonly vendor: Vendor;
  readonly names: Names;
  readonly offer: Offer;
  readonly pool: string | undefined;
};

/** What the storage takes: its pool where one is chosen, and nothing of what is for nodes. */
export function ownParameters(
  { pool }: Storage,
  given: Readonly<Record<string, string>> = {},
): Record<string, string> {
  const own = Object.entries(given).filter(([key]) => !isForNodes(key));
  return { ...Object.fromEntries(own), ...(pool !== undefined && { pool }) };
}

/** The id there of one volume; FAILED_PRECONDITION where nothing says which nonce it has and there is none. */
export async function requireId(storage: Storage, volume: VolumeRef): Promise<string> {
  const [id] = await findIds(storage, volume);
  if (id === undefined) throw preconditionProblem(`the storage has no volume "${volume.id}"`);
  return id;
}

/** The ids there: one by its nonce; without that all that the storage has of this name. */
export async function findIds(storage: Storage, { id, nonce = '' }: VolumeRef): Promise<readonly string[]> {
  const { names } = storage;
  if (nonce !== '') return [names.idOf({ id, nonce })];
  const found: string[] = [];
  for await (const volume of listVolumes(storage))
    if (volume.name === id && names.isOf(volume.id, id)) found.push(volume.id);
  return found;
}

/** All volumes there. */
export async function* listVolumes({ vendor }: Storage): AsyncIterable<Volume> {
  for await (const { volumes } of readPages(page => vendor.ask('listVolumes', page))) yield* volumes;
}

/** All pages of a list; UNAVAILABLE where one leads back to another, since the list would have no end. */
export async function* readPages<Page extends { readonly nextPageToken?: string | undefined }>(
  read: (asked: { readonly pageToken: string }) => Promise<Page>,
): AsyncIterable<Page> {
  const seen = new Set<string>();
  for (let pageToken: string | undefined = ''; pageToken !== undefined;) {
    if (seen.has(pageToken)) throw unavailableProblem('the storage has a list whose pages come again');
    seen.add(pageToken);
    const page: Page = await read({ pageToken });
    yield page;
    pageToken = page.nextPageToken;
  }
}
