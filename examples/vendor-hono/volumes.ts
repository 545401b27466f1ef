import { randomUUID } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import type { Disk, Source } from './disk.ts';
import { toPage, type Page } from './page.ts';
import { Problem } from './problem.ts';
import type { Answer } from './vendor.ts';

type Texts = Record<string, string>;
type From = { kind: 'volume' | 'snapshot'; volumeId: string; snapshotId: string };
type Access = { capability: { accessMode: string; accessType: string }; readonly: boolean };
type Size = { requiredBytes?: number; limitBytes?: number };
type Identity = { name: string; parameters?: Texts; mutableParameters?: Texts; source?: From };
type Asked<Body = unknown> = { volumeId: string; nodeId: string; body: Body };
type Attached = { nodeId: string; access: Access; resource: object };
/** A volume with what only the vendor knows: what it was asked to be, and how it is attached. */
export type Volume = {
  id: string;
  sizeBytes: number;
  mutableParameters: Texts;
  asked: object;
  holdsData: boolean;
} & {
  attached?: Attached | undefined;
};

const stepBytes = 2 ** 20;
const accessModes = ['WRITER', 'READER_ONLY', 'SINGLE_WRITER', 'MULTI_WRITER'].map(
  mode => `SINGLE_NODE_${mode}`,
);
const accessTypes = ['mount', 'block'];
const features = ['capacity', 'expand', 'modify', 'snapshots', 'restore', 'clone'];
const known = { volume: ['department'], mutable: ['label'], snapshot: [] as string[] };
const schemas = Object.entries(known).map(([kind, names]) => {
  const properties = Object.fromEntries(names.map(name => [name, { type: 'string' }]));
  return [kind, { type: 'object', properties, additionalProperties: false }];
});
const offers = { version: '1.0.0', accessModes, accessTypes, features, protocols: ['loop'], zeroed: true };

/** The operations on volumes, and what says what the storage can do. */
export function createVolumes(disk: Disk) {
  const { capacityBytes, pathOf } = disk;
  const limits = { minimumVolumeBytes: stepBytes, maximumVolumeBytes: capacityBytes, stepBytes };

  function chooseSize({ requiredBytes = 0, limitBytes = 0 }: Size, sourceBytes = 0, heldBytes = 0): number {
    const most = Math.min(limitBytes || capacityBytes, capacityBytes);
    const least = requiredBytes || sourceBytes || Math.min(2 ** 30, most - (most % stepBytes));
    const sizeBytes = Math.ceil(Math.max(least, 1) / stepBytes) * stepBytes;
    if (sizeBytes > most || least < sourceBytes)
      throw new Problem('OUT_OF_RANGE', `no size of ${least} to ${most} bytes is possible`);
    if (sizeBytes - heldBytes <= disk.freeBytes()) return sizeBytes;
    throw new Problem('RESOURCE_EXHAUSTED', `less than ${sizeBytes} bytes are left`);
  }

  return {
    getCapabilities: (): Answer => [200, { ...offers, limits, parameters: Object.fromEntries(schemas) }],
    getCapacity: (): Answer => [200, { availableBytes: Math.max(0, disk.freeBytes()), ...limits }],
    listVolumes: (page: Page) => toPage('volumes', disk.list<Volume>('volume').map(show), page),
    getVolume: ({ volumeId }: Asked): Answer => [200, show(disk.require('volume', volumeId))],

    createVolume({
      volumeId: id,
      body,
    }: Asked<Size & Identity & { capabilities: Access['capability'][] }>): Answer {
      const { name, parameters = {}, mutableParameters = {}, source } = body;
      const asked = { name, parameters, mutableParameters, ...(source && { source }) };
      const found = disk.find<Volume>('volume', id);
      if (found && isDeepStrictEqual(found.asked, asked) && isWithin(found, body)) return [200, show(found)];
      if (found) throw new Problem('ALREADY_EXISTS', `volume "${id}" is there, and is another`);
      requireOffered(...body.capabilities);
      requireKnown('volume', parameters);
      requireKnown('mutable', mutableParameters);
      const origin = source && disk.require<Volume>(source.kind, source[`${source.kind}Id`]);
      const sizeBytes = chooseSize(body, origin?.sizeBytes);
      disk.fill(pathOf('volume', id), sizeBytes, source && origin && toSource(disk, source.kind, origin));
      const createdAt = new Date().toISOString();
      const document = { id, ...asked, state: 'ready', sizeBytes, context: {}, createdAt };
      return [201, show(disk.put('volume', { ...document, asked, holdsData: source !== undefined }))];
    },

    deleteVolume({ volumeId }: Asked): Answer {
      const attached = disk.find<Volume>('volume', volumeId)?.attached;
      if (attached) throw attachedProblem(attached);
      disk.remove('volume', volumeId);
      return [204];
    },

    expandVolume({ volumeId, body }: Asked<Size>): Answer {
      const volume = disk.require<Volume>('volume', volumeId);
      if (isWithin(volume, body)) return [200, show(volume)];
      const sizeBytes = chooseSize(body, volume.sizeBytes, volume.sizeBytes);
      disk.resize(pathOf('volume', volumeId), sizeBytes);
      return [200, show(disk.put('volume', { ...volume, sizeBytes, nodeExpansionRequired: true }))];
    },

    modifyVolume({ volumeId, body }: Asked<{ mutableParameters: Texts }>): Answer {
      const volume = disk.require<Volume>('volume', volumeId);
      requireKnown('mutable', body.mutableParameters);
      const mutableParameters = { ...volume.mutableParameters, ...body.mutableParameters };
      return [200, show(disk.put('volume', { ...volume, mutableParameters }))];
    },

    attachVolume({ volumeId, nodeId, body }: Asked<Access>): Answer {
      const volume = disk.require<Volume>('volume', volumeId);
      const { attached, sizeBytes } = volume;
      const { accessMode, accessType } = body.capability;
      requireOffered(body.capability);
      const readonly = body.readonly || accessMode.endsWith('READER_ONLY');
      const access = { ...body, readonly };
      if (attached && attached.nodeId !== nodeId) throw attachedProblem(attached);
      if (attached && isDeepStrictEqual(attached.access, access)) return [200, attached.resource];
      if (attached) throw new Problem('ALREADY_EXISTS', `volume "${volumeId}" is attached in another way`);
      const mayFormat = accessType === 'mount' && !volume.holdsData;
      const reach = { protocol: 'loop', path: pathOf('volume', volumeId), attachmentId: randomUUID() };
      const attachment = { ...reach, sizeBytes, readonly, mayFormat };
      const resource = { volumeId, nodeId, state: 'attached', readonly, attachment };
      const holdsData = volume.holdsData || (accessType === 'block' && !readonly);
      disk.put('volume', { ...volume, holdsData, attached: { nodeId, access, resource } });
      return [201, resource];
    },

    getAttachment({ volumeId, nodeId }: Asked): Answer {
      const attached = disk.find<Volume>('volume', volumeId)?.attached;
      if (attached?.nodeId === nodeId) return [200, attached.resource];
      throw new Problem('NOT_FOUND', `volume "${volumeId}" is not attached to node "${nodeId}"`);
    },

    /** While a loop device of this machine has the file open, the node can still write. */
    detachVolume({ volumeId, nodeId }: Asked): Answer {
      const volume = disk.find<Volume>('volume', volumeId);
      if (volume?.attached?.nodeId !== nodeId) return [204];
      const files = globSync('/sys/block/loop*/loop/backing_file').map(file =>
        readFileSync(file, 'utf8').trim(),
      );
      if (files.includes(pathOf('volume', volumeId)))
        throw new Problem('FAILED_PRECONDITION', 'it is still in use');
      disk.put('volume', { ...volume, attached: undefined });
      return [204];
    },
  };
}

/** Where the bytes of a volume or snapshot are. */
export function toSource(
  disk: Disk,
  kind: 'volume' | 'snapshot',
  origin: Pick<Volume, 'id' | 'attached'>,
): Source {
  const isWritten = origin.attached !== undefined && !origin.attached.access.readonly;
  return { path: disk.pathOf(kind, origin.id), isWritten };
}

/** INVALID_ARGUMENT for parameters that the published schema does not have. */
export function requireKnown(kind: keyof typeof known, parameters: Texts = {}): void {
  const strays = Object.keys(parameters).filter(name => !known[kind].includes(name));
  if (strays.length > 0) throw new Problem('INVALID_ARGUMENT', `unknown parameters: ${strays.join(', ')}`);
}

function requireOffered(...capabilities: readonly Access['capability'][]): void {
  const stray = capabilities.find(one => !accessModes.includes(one.accessMode));
  if (stray) throw new Problem('INVALID_ARGUMENT', `${stray.accessMode} is not offered`);
}

function isWithin({ sizeBytes }: Volume, { requiredBytes = 0, limitBytes = 0 }: Size): boolean {
  return sizeBytes >= requiredBytes && (limitBytes === 0 || sizeBytes <= limitBytes);
}

function attachedProblem({ nodeId }: Attached): Problem {
  return new Problem('FAILED_PRECONDITION', `it is attached to node "${nodeId}"`);
}

function show({ asked: _asked, holdsData: _holdsData, attached, ...volume }: Volume) {
  const attachments = attached
    ? [{ nodeId: attached.nodeId, state: 'attached', readonly: attached.access.readonly }]
    : [];
  return { ...volume, attachments };
}
