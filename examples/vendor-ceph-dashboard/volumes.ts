import { isDeepStrictEqual } from 'node:util';
import { accessModes, isWithin, Problem, sizeFor } from 'fairlead/vendor';
import type { AttachmentSpec, Offer, VendorOperations, Volume as Shown } from 'fairlead/vendor';
import { snapshotOf, type Ceph, type Image } from './ceph.ts';
import type { Found, Records } from './records.ts';

/** What is recorded of a volume: the size that it was made with, and which node uses it. */
export type Volume = Pick<Shown, 'name' | 'source'> & { sizeBytes: number; isRaw?: boolean } & {
  attached?: AttachmentSpec & { uuid: string; nodeId: string };
};
type Known = { found: Found<Volume>; disk: Image };

const limits = { minimumVolumeBytes: 2 ** 20, maximumVolumeBytes: 2 ** 44, stepBytes: 2 ** 20 };
const none = { type: 'object', additionalProperties: false };
const features = ['layering', 'exclusive-lock', 'object-map', 'fast-diff', 'deep-flatten'];

/** What Ceph can do by its dashboard. */
export const capabilities: Offer = {
  version: '1.0.0',
  accessModes: accessModes.filter(mode => mode.startsWith('SINGLE_NODE_')),
  accessTypes: ['mount', 'block'],
  features: ['capacity', 'expand', 'snapshots', 'restore'],
  protocols: ['nbd'],
  zeroed: true,
  limits,
  parameters: { volume: none, snapshot: none },
};

/** The record and the image of a volume; NOT_FOUND, and ABORTED for one that is not whole. */
export async function requireReady({ find, pathOf }: Ceph, records: Records, id: string): Promise<Known> {
  const found = await records.find<Volume>(`v.${id}`);
  if (!found) throw new Problem('NOT_FOUND', `there is no volume "${id}"`);
  const disk = await find(pathOf(`v.${id}`, 'disk'));
  if (isReady(found.value, disk)) return { found, disk };
  throw new Problem('ABORTED', `volume "${id}" is being created or deleted`);
}

/** Each volume is an RBD namespace with its record and its image. */
export function createVolumes(ceph: Ceph, records: Records) {
  const { find, settle, send, get, pool } = ceph;
  const diskOf = (id: string): string => ceph.pathOf(`v.${id}`, 'disk');

  async function requireSnapshot(source: NonNullable<Volume['source']>) {
    const id = source.kind === 'snapshot' ? source.snapshotId : source.volumeId;
    const { volumeId = '' } = (await records.find<{ volumeId: string }>(`s.${id}`))?.value ?? {};
    const size = snapshotOf(await find(diskOf(volumeId)), `s.${id}`)?.size;
    if (size === undefined) throw new Problem('NOT_FOUND', `there is no snapshot "${id}"`);
    return { size, cloning: `POST ${diskOf(volumeId)}/snap/s.${encodeURIComponent(id)}/clone` };
  }

  function grow(id: string, size: number): Promise<Image> {
    const look = (disk?: Image) => (disk && disk.size >= size ? disk : undefined);
    return settle(diskOf(id), look, [`PUT ${diskOf(id)}`, { size }]);
  }

  async function fill(id: string, { source, sizeBytes: size }: Volume): Promise<void> {
    const path = diskOf(id);
    const image = { pool_name: pool, namespace: `v.${id}`, name: 'disk', size, features };
    if (!source) return void (await settle(path, disk => disk, ['POST block/image', image]));
    if (!(await find(path))) {
      const { cloning } = await requireSnapshot(source);
      const child = { child_pool_name: pool, child_namespace: `v.${id}`, child_image_name: 'disk', features };
      await settle(path, disk => disk, [cloning, child]);
    }
    await grow(id, size);
    // It is whole once it has no parent, which the dashboard does not wait for.
    await send(`POST ${path}/flatten`, {});
  }

  async function read(id: string): Promise<Shown | undefined> {
    const found = await records.find<Volume>(`v.${id}`);
    return found && show(id, found.value, await find(diskOf(id)));
  }

  return {
    async getCapacity() {
      const path = `pool/${encodeURIComponent(pool)}?stats=true`;
      const found = await get<{ stats: { max_avail: { latest: number } } }>(path);
      return [200, { availableBytes: Math.floor(found?.stats.max_avail.latest ?? 0), ...limits }];
    },

    async listVolumes(asked) {
      const { entries, ...more } = await records.list('v.', read, asked);
      return [200, { volumes: entries, ...more }];
    },

    async createVolume({ volumeId: id, body }) {
      const { name, source } = body;
      let found = await records.find<Volume>(`v.${id}`);
      if (!found) {
        const sizeBytes = sizeFor(body, limits, source && (await requireSnapshot(source)).size);
        found = await records.create<Volume>(`v.${id}`, { name, ...(source && { source }), sizeBytes });
      }
      const before = await find(diskOf(id));
      const isSame = isDeepStrictEqual([found.value.name, found.value.source], [name, source]);
      if (!isSame || !isWithin(Math.max(found.value.sizeBytes, before?.size ?? 0), body))
        throw new Problem('ALREADY_EXISTS', `volume "${id}" exists with another name, source or size`);
      if (isReady(found.value, before)) return [200, show(id, found.value, before)];
      await fill(id, found.value);
      const disk = await find(diskOf(id));
      return isReady(found.value, disk) ? [201, show(id, found.value, disk)] : [202];
    },

    async getVolume({ volumeId }) {
      const found = await read(volumeId);
      if (found) return [200, found];
      throw new Problem('NOT_FOUND', `there is no volume "${volumeId}"`);
    },

    async deleteVolume({ volumeId: id }) {
      requireFree((await records.find<Volume>(`v.${id}`))?.value);
      if ((await find(diskOf(id)))?.snapshots.length)
        throw new Problem('FAILED_PRECONDITION', `volume "${id}" has snapshots`);
      await settle(diskOf(id), disk => !disk, [`DELETE ${diskOf(id)}`]);
      await records.remove(`v.${id}`);
      return [204];
    },

    async expandVolume({ volumeId: id, body }) {
      const { found, disk } = await requireReady(ceph, records, id);
      if (isWithin(disk.size, body)) return [200, show(id, found.value, disk)];
      const size = sizeFor(body, limits, disk.size);
      requireFree(found.value);
      return [200, show(id, found.value, await grow(id, size))];
    },
  } satisfies VendorOperations;
}

function isReady({ sizeBytes }: Volume, disk: Image | undefined): disk is Image {
  return disk !== undefined && disk.parent === null && disk.size >= sizeBytes;
}

function show(id: string, volume: Volume, disk: Image | undefined): Shown {
  const { name, source, attached, sizeBytes: firstBytes } = volume;
  const { nodeId = '', readonly = false } = attached ?? {};
  const attachments = attached ? [{ nodeId, state: 'attached' as const, readonly }] : [];
  const createdAt = new Date(disk?.timestamp ?? 0).toISOString();
  const state = isReady(volume, disk) ? 'ready' : 'creating';
  const sizeBytes = disk?.size ?? 0;
  const grown = sizeBytes > firstBytes && { nodeExpansionRequired: true };
  const rest = { createdAt, attachments, ...(source && { source }), ...grown };
  return { id, name, state, sizeBytes, parameters: {}, context: {}, ...rest };
}

/** FAILED_PRECONDITION for a volume that some node has. */
export function requireFree({ attached }: Partial<Volume> = {}): void {
  if (!attached) return;
  throw new Problem('FAILED_PRECONDITION', `the volume is attached to node "${attached.nodeId}"`);
}
