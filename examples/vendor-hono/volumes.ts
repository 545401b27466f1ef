import { randomUUID } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import type { Disk, Document, Name, Size, Texts } from './disk.ts';
import { toPage, type Page } from './page.ts';
import { Problem } from './problem.ts';
import type { Answer } from './vendor.ts';

type Capability = { accessMode: string; accessType: string };
type Access = { capability: Capability; readonly: boolean };
type From = { kind: Name['kind']; volumeId: string; snapshotId: string };
type Identity = { name: string; parameters?: Texts; mutableParameters?: Texts; source?: From };
type Asked<Body = unknown> = { volumeId: string; nodeId: string; body: Body };

const modes = ['WRITER', 'READER_ONLY', 'SINGLE_WRITER', 'MULTI_WRITER'].map(mode => `SINGLE_NODE_${mode}`);
const features = ['capacity', 'expand', 'modify', 'snapshots', 'restore', 'clone'];
const ways = { accessModes: modes, accessTypes: ['mount', 'block'], protocols: ['loop'] };
const known = { accessMode: modes, volume: ['department'], mutable: ['label'], snapshot: [] as string[] };
const schemas = {
  volume: toSchema('volume'),
  mutable: toSchema('mutable'),
  snapshot: toSchema('snapshot'),
};
const offers = { version: '1.0.0', features, ...ways, zeroed: true, parameters: schemas };
const nameOf = (id: string): Name => ({ kind: 'volume', id });

/** The operations on volumes, and what says what the storage can do. */
export function createVolumes(disk: Disk) {
  const { limits, pathOf } = disk;
  const require = (id: string): Document => disk.require(nameOf(id));
  const findAttached = (id: string): Document['attached'] => disk.find(nameOf(id))?.attached;

  return {
    getCapabilities: (): Answer => [200, { ...offers, limits }],
    getCapacity: (): Answer => [200, { availableBytes: Math.max(0, disk.freeBytes()), ...limits }],
    listVolumes: (page: Page) => toPage('volumes', disk.list('volume').map(show), page),
    getVolume: ({ volumeId }: Asked): Answer => [200, show(require(volumeId))],

    async createVolume(given: Asked<Size & Identity & { capabilities: Capability[] }>): Promise<Answer> {
      const { name, parameters = {}, mutableParameters = {}, source, capabilities, ...size } = given.body;
      for (const { accessMode } of capabilities) requireKnown('accessMode', [accessMode]);
      requireKnown('volume', Object.keys(parameters));
      requireKnown('mutable', Object.keys(mutableParameters));
      const asked = { name, parameters, mutableParameters, ...(source && { source }) };
      const origin = source && { kind: source.kind, id: source[`${source.kind}Id`] };
      const [status, volume] = await disk.create(nameOf(given.volumeId), asked, { ...size, origin });
      return [status, show(volume)];
    },

    deleteVolume({ volumeId }: Asked): Answer {
      requireFree(findAttached(volumeId)?.nodeId);
      disk.remove(nameOf(volumeId));
      return [204];
    },

    async expandVolume({ volumeId, body }: Asked<Size>): Promise<Answer> {
      const volume = await disk.expand(require(volumeId), body);
      return [200, { ...show(volume), nodeExpansionRequired: true }];
    },

    modifyVolume({ volumeId, body }: Asked<{ mutableParameters: Texts }>): Answer {
      requireKnown('mutable', Object.keys(body.mutableParameters));
      const volume = require(volumeId);
      const { mutableParameters } = show(volume);
      return [
        200,
        show(disk.put({ ...volume, mutableParameters: { ...mutableParameters, ...body.mutableParameters } })),
      ];
    },

    attachVolume({ volumeId, nodeId, body }: Asked<Access>): Answer {
      const volume = require(volumeId);
      const { attached, sizeBytes, holdsData } = volume;
      const { accessMode, accessType } = body.capability;
      requireKnown('accessMode', [accessMode]);
      requireFree(attached?.nodeId, nodeId);
      const readonly = body.readonly || accessMode.endsWith('READER_ONLY');
      const access = { ...body, readonly };
      if (attached && isDeepStrictEqual(attached.access, access)) return [200, attached.resource];
      if (attached) throw new Problem('ALREADY_EXISTS', `volume "${volumeId}" is attached in another way`);
      const mayFormat = accessType === 'mount' && !holdsData;
      const reach = { protocol: 'loop', path: pathOf(volume), attachmentId: randomUUID() };
      const attachment = { ...reach, sizeBytes, readonly, mayFormat };
      const resource = { volumeId, nodeId, state: 'attached', readonly, attachment };
      const isRaw = accessType === 'block' && !readonly;
      disk.put({ ...volume, holdsData: holdsData || isRaw, attached: { nodeId, access, resource } });
      return [201, resource];
    },

    getAttachment({ volumeId, nodeId }: Asked): Answer {
      const attached = findAttached(volumeId);
      if (attached?.nodeId === nodeId) return [200, attached.resource];
      throw new Problem('NOT_FOUND', `volume "${volumeId}" is not attached to node "${nodeId}"`);
    },

    /** While a loop device of this machine has the file open, the node can still write. */
    detachVolume({ volumeId, nodeId }: Asked): Answer {
      if (findAttached(volumeId)?.nodeId !== nodeId) return [204];
      const files = globSync('/sys/block/loop*/loop/backing_file').map(file => readFileSync(file, 'utf8'));
      if (files.includes(`${pathOf(nameOf(volumeId))}\n`))
        throw new Problem('FAILED_PRECONDITION', 'it is still in use');
      disk.put({ ...require(volumeId), attached: undefined });
      return [204];
    },
  };
}

/** INVALID_ARGUMENT for what is not offered. */
export function requireKnown(kind: keyof typeof known, names: readonly string[]): void {
  const strays = names.filter(name => !known[kind].includes(name));
  if (strays.length > 0) throw new Problem('INVALID_ARGUMENT', `${kind} ${strays.join(', ')} is not offered`);
}

function requireFree(holder: string | undefined, nodeId?: string): void {
  if (holder === undefined || holder === nodeId) return;
  throw new Problem('FAILED_PRECONDITION', `it is attached to node "${holder}"`);
}

function toSchema(kind: keyof typeof known) {
  const properties = Object.fromEntries(known[kind].map(name => [name, { type: 'string' }]));
  return { type: 'object', properties, additionalProperties: false };
}

function show({ id, asked, sizeBytes, createdAt, attached, ...volume }: Document) {
  const { nodeId, access } = attached ?? {};
  const attachments = access ? [{ nodeId, state: 'attached', readonly: access.readonly }] : [];
  const { mutableParameters } = { ...(asked as Identity), ...volume };
  return { ...asked, id, sizeBytes, createdAt, mutableParameters, state: 'ready', context: {}, attachments };
}
