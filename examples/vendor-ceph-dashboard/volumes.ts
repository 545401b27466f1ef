import { isDeepStrictEqual } from 'node:util';
import type { Page } from '../vendor-hono/page.ts';
import { Problem } from '../vendor-hono/problem.ts';
import type { Answer } from '../vendor-hono/vendor.ts';
import { snapshotOf, type Ceph, type Image } from './ceph.ts';
import type { Found, Records } from './records.ts';

type Size = { requiredBytes?: number; limitBytes?: number };
type Named = { name: string; source?: { kind: string; snapshotId: string } };
type Spec = Size & Named & { capabilities: Access['capability'][]; parameters?: object };
type Asked<Body = never> = { volumeId: string; body: Body };
/** How a node is to use a volume. */
export type Access = { capability: { accessMode: string; accessType: string }; readonly: boolean };
/** What is recorded of a volume: the size that it was made with, and which node uses it. */
export type Volume = Named & { sizeBytes: number; isRaw?: boolean; attached?: Attached };
type Attached = Access & { uuid: string; nodeId: string };
type Known = { found: Found<Volume>; disk: Image };

const mebibyte = 2 ** 20;
const limits = { minimumVolumeBytes: mebibyte, maximumVolumeBytes: 2 ** 44, stepBytes: mebibyte };
const features = ['layering', 'exclusive-lock', 'object-map', 'fast-diff', 'deep-flatten'];
const none = { type: 'object', additionalProperties: false };
const capabilities = {
  version: '1.0.0',
  accessModes: ['WRITER', 'READER_ONLY', 'SINGLE_WRITER', 'MULTI_WRITER'].map(mode => `SINGLE_NODE_${mode}`),
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

  async function requireSnapshot(id: string) {
    const { volumeId = '' } = (await records.find<{ volumeId: string }>(`s.${id}`))?.value ?? {};
    const size = snapshotOf(await find(diskOf(volumeId)), `s.${id}`)?.size;
    if (size === undefined) throw new Problem('NOT_FOUND', `there is no snapshot "${id}"`);
    return { size, cloning: `POST ${diskOf(volumeId)}/snap/s.${encodeURIComponent(id)}/clone` };
  }

  const grow = (id: string, size: number) =>
    settle(diskOf(id), disk => disk && disk.size >= size, [`PUT ${diskOf(id)}`, { size }]);

  async function fill(id: string, { source, sizeBytes: size }: Volume): Promise<void> {
    const path = diskOf(id);
    const image = { pool_name: pool, namespace: `v.${id}`, name: 'disk', size, features };
    if (!source) return void (await settle(path, disk => disk, ['POST block/image', image]));
    if (!(await find(path))) {
      const { cloning } = await requireSnapshot(source.snapshotId);
      const child = { child_pool_name: pool, child_namespace: `v.${id}`, child_image_name: 'disk', features };
      await settle(path, disk => disk, [cloning, child]);
    }
    await grow(id, size);
    // It is whole once it has no parent, which the dashboard does not wait for.
    await send(`POST ${path}/flatten`, {});
  }

  async function read(id: string): Promise<readonly object[]> {
    const found = await records.find<Volume>(`v.${id}`);
    return found ? [toVolume(id, found.value, await find(diskOf(id)))] : [];
  }

  return {
    getCapabilities: (): Answer => [200, capabilities],

    async getCapacity(): Promise<Answer> {
      const path = `pool/${encodeURIComponent(pool)}?stats=true`;
      const found = await get<{ stats: { max_avail: { latest: number } } }>(path);
      return [200, { availableBytes: Math.floor(found?.stats.max_avail.latest ?? 0), ...limits }];
    },

    listVolumes: (page: Page) => records.list('volumes', { prefix: 'v.', read }, page),

    async createVolume({ volumeId: id, body }: Asked<Spec>): Promise<Answer> {
      const { name, source } = body;
      for (const capability of body.capabilities) requireOffered(capability);
      requireNone(body.parameters);
      let found = await records.find<Volume>(`v.${id}`);
      if (!found) {
        const sizeBytes = chooseSize(body, source ? (await requireSnapshot(source.snapshotId)).size : 0);
        found = await records.create<Volume>(`v.${id}`, { name, ...(source && { source }), sizeBytes });
      }
      const before = await find(diskOf(id));
      requireSame({ ...found.value, sizeBytes: Math.max(found.value.sizeBytes, before?.size ?? 0) }, body);
      if (isReady(found.value, before)) return [200, toVolume(id, found.value, before)];
      await fill(id, found.value);
      const disk = await find(diskOf(id));
      return isReady(found.value, disk) ? [201, toVolume(id, found.value, disk)] : [202];
    },

    getVolume: ({ volumeId }: Asked) => records.show(volumeId, read),

    async deleteVolume({ volumeId: id }: Asked): Promise<Answer> {
      requireFree((await records.find<Volume>(`v.${id}`))?.value);
      if ((await find(diskOf(id)))?.snapshots.length)
        throw new Problem('FAILED_PRECONDITION', `volume "${id}" has snapshots`);
      await settle(diskOf(id), disk => !disk, [`DELETE ${diskOf(id)}`]);
      await records.remove(`v.${id}`);
      return [204];
    },

    async expandVolume({ volumeId: id, body }: Asked<Size>): Promise<Answer> {
      const { found, disk } = await requireReady(ceph, records, id);
      if (body.limitBytes && body.limitBytes < disk.size)
        throw new Problem('OUT_OF_RANGE', `volume "${id}" has ${disk.size} bytes already`);
      const size = Math.max(disk.size, body.requiredBytes ? chooseSize(body) : 0);
      if (size > disk.size) requireFree(found.value);
      await grow(id, size);
      return [200, toVolume(id, found.value, await find(diskOf(id)))];
    },
  };
}

function isReady({ sizeBytes }: Volume, disk: Image | undefined): disk is Image {
  return disk !== undefined && disk.parent === null && disk.size >= sizeBytes;
}

function toVolume(id: string, volume: Volume, disk: Image | undefined): object {
  const { nodeId, readonly } = volume.attached ?? {};
  const [name, source] = [volume.name, volume.source && { source: volume.source }];
  const createdAt = new Date(disk?.timestamp ?? 0).toISOString();
  const attachments = nodeId ? [{ nodeId, state: 'attached', readonly }] : [];
  const state = isReady(volume, disk) ? 'ready' : 'creating';
  const [sizeBytes, parameters, context] = [disk?.size ?? 0, {}, {}];
  const grown = sizeBytes > volume.sizeBytes && { nodeExpansionRequired: true };
  return { id, name, state, sizeBytes, parameters, context, attachments, createdAt, ...source, ...grown };
}

/** INVALID_ARGUMENT for a way to use a volume that is not offered. */
export function requireOffered({ accessMode }: Access['capability']): void {
  if (capabilities.accessModes.includes(accessMode)) return;
  throw new Problem('INVALID_ARGUMENT', `the access mode ${accessMode} is not offered`);
}

/** INVALID_ARGUMENT for any parameters: there are none. */
export function requireNone(parameters: object = {}): void {
  const names = Object.keys(parameters);
  if (names.length > 0) throw new Problem('INVALID_ARGUMENT', `unknown parameters: ${names.join(', ')}`);
}

function requireFree(volume?: Volume): void {
  const nodeId = volume?.attached?.nodeId;
  if (nodeId) throw new Problem('FAILED_PRECONDITION', `the volume is attached to node "${nodeId}"`);
}

function requireSame({ name, source, sizeBytes }: Volume, asked: Spec): void {
  const fits = sizeBytes >= (asked.requiredBytes ?? 0) && sizeBytes <= (asked.limitBytes || Infinity);
  if (fits && isDeepStrictEqual([name, source], [asked.name, asked.source])) return;
  throw new Problem('ALREADY_EXISTS', `the volume exists with ${sizeBytes} bytes, or another name or source`);
}

/** The least size within the bounds, in whole steps; OUT_OF_RANGE. */
function chooseSize({ requiredBytes = 0, limitBytes = 0 }: Size, sourceBytes = 0): number {
  const most = Math.min(limitBytes || Infinity, limits.maximumVolumeBytes);
  const wanted = requiredBytes || sourceBytes || Math.min(2 ** 30, most - (most % mebibyte));
  const sizeBytes = Math.ceil(Math.max(wanted, 1) / mebibyte) * mebibyte;
  if (sizeBytes <= most && wanted >= sourceBytes) return sizeBytes;
  throw new Problem('OUT_OF_RANGE', `a volume of ${wanted} bytes is not possible`);
}
