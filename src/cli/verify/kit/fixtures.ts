import type { AttachmentResource, AttachmentSpec } from '../../../api/node.ts';
import type { Snapshot } from '../../../api/snapshot.ts';
import type { AccessMode, Capability } from '../../../api/storage.ts';
import type { Volume, VolumeSpec } from '../../../api/volume.ts';
import { poll } from '../../../lib/concurrency.ts';
import { expect, fault, skip } from '../finding.ts';
import type { Exchange } from '../http/exchange.ts';
import type { Kit } from './kit.ts';

const mebibyte = 2 ** 20;
const mostPages = 10_000;

/** The sizes that volumes of the vendor have, as its capabilities say, in bytes. */
export function sizesOf({ capabilities: { limits = {} } }: Pick<Kit, 'capabilities'>) {
  const { minimumVolumeBytes = 1, maximumVolumeBytes = Number.MAX_SAFE_INTEGER, stepBytes = 1 } = limits;
  return { minimumBytes: minimumVolumeBytes, maximumBytes: maximumVolumeBytes, stepBytes };
}

/** A size that the vendor has: `factor` times that of the usual small volume, which is a mebibyte or the least there is. */
export function smallSize(kit: Pick<Kit, 'capabilities'>, factor = 1): number {
  const { minimumBytes, stepBytes } = sizesOf(kit);
  return Math.ceil(Math.max(mebibyte, minimumBytes) / stepBytes) * stepBytes * factor;
}

/** The name that goes with an id: what follows its first dot. */
export function nameOf(id: string): string {
  return id.slice(id.indexOf('.') + 1);
}

/** A way to use a volume that the vendor offers, on one node where no mode is given. */
export function wayOf({ capabilities }: Pick<Kit, 'capabilities'>, mode?: AccessMode): Capability {
  const { accessModes, accessTypes } = capabilities;
  const single = accessModes.find(one => one.startsWith('SINGLE_NODE_') && !one.endsWith('READER_ONLY'));
  const accessMode = mode ?? single ?? accessModes[0];
  const accessType = accessTypes.includes('mount') ? 'mount' : accessTypes[0];
  if (!accessMode || !accessType) throw skip('the vendor offers no way to use a volume');
  return { accessType, accessMode };
}

/** What is asked of a new small volume, with what a check wants otherwise. */
export function specOf(kit: Kit, id: string, more: Partial<VolumeSpec> = {}): VolumeSpec {
  return {
    name: nameOf(id),
    requiredBytes: smallSize(kit),
    capabilities: [wayOf(kit)],
    ...(Object.keys(kit.parameters).length > 0 && { parameters: kit.parameters }),
    ...more,
  };
}

/** Makes a volume that is ready. */
export async function makeVolume(kit: Kit, more: Partial<VolumeSpec> = {}, id = kit.id()): Promise<Volume> {
  return kit.done('createVolume', { volumeId: id, body: specOf(kit, id, more) });
}

/** A node's id; the node is recorded where the vendor must know its nodes. */
export async function makeNode(kit: Kit): Promise<string> {
  const nodeId = kit.id();
  const [topology] = kit.capabilities.topologies ?? [];
  if (kit.has('nodes')) await kit.done('putNode', { nodeId, body: topology ? { topology } : {} });
  return nodeId;
}

/** How a node is to use a volume, as usual for writing on one node. */
export function accessOf(kit: Kit, more: Partial<AttachmentSpec> = {}): AttachmentSpec {
  return { capability: wayOf(kit), readonly: false, ...more };
}

/** Attaches a volume to a node. */
export async function attach(kit: Kit, volumeId: string, nodeId: string): Promise<AttachmentResource> {
  return kit.done('attachVolume', { volumeId, nodeId, body: accessOf(kit) });
}

/** Takes a snapshot and waits until it is ready. */
export async function takeSnapshot(kit: Kit, volumeId: string, id = kit.id()): Promise<Snapshot> {
  const body = { name: nameOf(id), volumeId };
  await kit.done('createSnapshot', { snapshotId: id, body });
  return untilReady(kit, () => kit.done('getSnapshot', { snapshotId: id }));
}

/** Reads until the state is ready, within the time of one operation. */
export async function untilReady<T extends { readonly state: string }>(
  kit: Kit,
  read: () => Promise<T>,
): Promise<T> {
  let last = '';
  const look = async (): Promise<T | undefined> => {
    const found = await read();
    last = found.state;
    return last === 'ready' ? found : undefined;
  };
  const ready = await poll(look, { everyMs: 50, timeoutMs: kit.timeoutMs });
  if (!ready) throw fault(`the state becomes "ready", and does not stay "${last}"`);
  return ready;
}

/** How a list is read. */
type Listing = {
  readonly limit?: number;
  readonly volumeId?: string;
  /** Called before each page but the first. */
  readonly between?: () => Promise<void>;
};

/** All of a list's entries that the kit made, page by page. */
export async function listAll(
  kit: Kit,
  list: 'listVolumes' | 'listSnapshots',
  { between, ...query }: Listing = {},
): Promise<readonly { readonly id: string }[]> {
  const found: { readonly id: string }[] = [];
  let pageToken: string | undefined;
  for (let pages = 0; pages < mostPages; pages++) {
    const page: { readonly nextPageToken?: string | undefined } = await kit.done(list, {
      ...query,
      ...(pageToken !== undefined && { pageToken }),
    });
    found.push(...entriesOf(page));
    const next = page.nextPageToken;
    if (next === undefined) return found.filter(entry => isOwn(kit, entry));
    expect(next !== pageToken && next !== '', 'the token of the next page is not that of the page itself');
    pageToken = next;
    await between?.();
  }
  throw fault(`a list ends within ${mostPages} pages`);
}

/**
 * What follows the prefix in an id that a run of the kit made: the run by its seed and, in base 36, its time. A word that
 * people begin names with is none.
 */
const afterPrefix = /^\d*(s\d+-(?:([a-z\d]+)-)?)/;

type Entry = Readonly<Record<string, unknown>>;

/** The run of the kit that made something, and when it began; the vendor names the snapshots of a group itself. */
export function runOf({ prefix }: Pick<Kit, 'prefix'>, { id, volumeId }: Entry) {
  for (const own of [id, volumeId].map(String)) {
    const [, run, time = '0'] = (own.startsWith(prefix) && afterPrefix.exec(own.slice(prefix.length))) || [];
    if (run !== undefined) return { run, beganMs: Number.parseInt(time, 36) };
  }
  return undefined;
}

/** True for what this run made. */
export function isOwn(kit: Pick<Kit, 'prefix' | 'run'>, entry: Entry): boolean {
  return runOf(kit, entry)?.run === kit.run;
}

/** The entries of a page of volumes or snapshots. */
export function entriesOf(page: object): readonly { readonly id: string }[] {
  const { volumes, snapshots } = page as Readonly<Record<string, readonly { readonly id: string }[]>>;
  return volumes ?? snapshots ?? [];
}

/** A fault unless there is no such volume, neither to read nor in the list. */
export async function expectNoVolume(kit: Kit, volumeId: string): Promise<void> {
  await kit.refused('getVolume', { volumeId }, ['NOT_FOUND']);
  const listed = await listAll(kit, 'listVolumes');
  expect(
    !listed.some(({ id }) => id === volumeId),
    `volume "${volumeId}", which is NOT_FOUND, is in no list`,
  );
}

/** A fault unless the volume is read as it was before. */
export async function expectSame(kit: Kit, before: Volume): Promise<void> {
  const now = await kit.done('getVolume', { volumeId: before.id });
  for (const key of ['name', 'state', 'sizeBytes', 'createdAt', 'parameters', 'source', 'context'] as const)
    expect(
      JSON.stringify(now[key]) === JSON.stringify(before[key]),
      `"${key}" of the volume stays ${JSON.stringify(before[key])}, and is not ${JSON.stringify(now[key])}`,
    );
}

/** What a problem says; empty where the answer is none. */
export function detailOf({ answer }: Exchange): string {
  const { detail = '' } = Object(answer?.body) as { readonly detail?: string };
  return detail;
}
