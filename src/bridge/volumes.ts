import { invalidProblem, preconditionProblem } from '../api/problem.ts';
import { isForReaders } from '../api/storage.ts';
import {
  isWithin,
  sizeFor,
  type AttachmentSpec,
  type VendorOperations,
  type Volume,
  type VolumeSource,
} from '../sdk/server/vendor.ts';
import { importDriverVolume } from './driver-volumes.ts';
import type { Bridge } from './driver.ts';
import type { VolumeRecord } from './records.ts';
import { createResources, existsProblem, readPage } from './resources.ts';

/** Creates the operations on volumes that all drivers have. */
export function createVolumes(bridge: Bridge) {
  const { driver, records } = bridge;
  const volumes = createResources(bridge, 'volume');
  return {
    getVolume: ({ volumeId }) => [200, show(volumes.require(volumeId))],

    listVolumes(request) {
      const { entries, ...more } = readPage(request, page => records.page('volume', page));
      return [200, { volumes: entries.map(show), ...more }];
    },

    async createVolume({ volumeId, body }) {
      const [status, volume] = await volumes.create(volumeId, body, () => toNew(bridge, volumeId, body));
      if (!isWithin(volume.made.sizeBytes, body)) throw existsProblem('volume', volumeId);
      return [status, show(volume)];
    },

    async deleteVolume({ volumeId }) {
      const [holder] = Object.keys(records.find('volume', volumeId)?.attachments ?? {});
      if (holder !== undefined)
        throw preconditionProblem(`volume "${volumeId}" is attached to node "${holder}"`);
      await volumes.remove(volumeId, ({ made: { handle } }) =>
        driver.calls.controller.DeleteVolume({ volume_id: handle, secrets: driver.secrets('provision') }),
      );
      return [204];
    },
  } satisfies VendorOperations;
}

/** Makes the record of a new volume, or of one that the driver made before. INVALID_ARGUMENT for a source of the latter. */
async function toNew(bridge: Bridge, id: string, spec: VolumeRecord['spec']): Promise<VolumeRecord> {
  const { existing, mutableParameters = {}, requiredBytes = 0, limitBytes = 0 } = spec;
  const createdAt = new Date().toISOString();
  const common = { id, spec, createdAt, mutableParameters, attachments: {}, wantedBytes: 0 };
  if (existing && spec.source)
    throw invalidProblem('a volume that the driver made before has no source; leave it out');
  if (existing) return importDriverVolume(bridge, common, existing);
  if (spec.source) {
    const { content: source, sizeBytes } = sourceOf(bridge, spec.source);
    return { ...common, source, wantedBytes: sizeFor(spec, bridge.limits, sizeBytes) };
  }
  const isFree = requiredBytes + limitBytes === 0;
  return { ...common, wantedBytes: isFree ? 0 : sizeFor(spec, bridge.limits) };
}

/** Finds the source at the driver, and its size. NOT_FOUND if it is missing, ABORTED while the driver makes it. */
function sourceOf(bridge: Bridge, source: VolumeSource) {
  if (source.kind === 'volume') {
    const { handle, sizeBytes } = createResources(bridge, 'volume').requireCreated(source.volumeId).made;
    return { content: { volume: { volume_id: handle } }, sizeBytes };
  }
  const { handle, sizeBytes } = createResources(bridge, 'snapshot').requireCreated(source.snapshotId).made;
  return { content: { snapshot: { snapshot_id: handle } }, sizeBytes };
}

export function show({ id, spec, createdAt, mutableParameters, attachments, made }: VolumeRecord): Volume {
  const { name, parameters = {}, source } = spec;
  return {
    id,
    name,
    state: made ? 'ready' : 'creating',
    sizeBytes: made?.sizeBytes ?? 0,
    parameters,
    mutableParameters,
    // The driver's own context often holds secrets; nodes get it sealed, with their attachment.
    context: {},
    attachments: Object.entries(attachments).map(([nodeId, { spec: use, publishContext }]) => ({
      nodeId,
      state: publishContext ? ('attached' as const) : ('attaching' as const),
      readonly: isReadonly(use),
    })),
    createdAt,
    ...(source && { source }),
    ...(made?.topology && { topology: made.topology.map(segments => ({ ...segments })) }),
  };
}

export function isReadonly({ readonly, capability }: AttachmentSpec): boolean {
  return readonly || isForReaders(capability);
}
