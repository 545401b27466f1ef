import { isDeepStrictEqual } from 'node:util';
import { invalidProblem, Problem, preconditionProblem } from '../api/problem.ts';
import {
  isWithin,
  sizeFor,
  toPage,
  type Offer,
  type VendorOperations,
  type Volume,
  type VolumeSource,
} from '../sdk/server/vendor.ts';
import type { VolumeContentSource } from '../csi/generated/csi/v1/VolumeContentSource.ts';
import { unlessRefused, type Bridge } from './driver.ts';
import { createDriverVolume, importDriverVolume } from './driver-volumes.ts';
import { isCreated, type CreatedResource, type Records, type VolumeRecord, type WithId } from './records.ts';

type Known = WithId<'volume'>;

/** The number of records that one page reads at most. */
export const maxPage = 500;

export type SizedBridge = Bridge & {
  /** The limits of sizes. The bridge keeps them itself, since some drivers check no sizes or round them differently. */
  readonly limits: Offer['limits'];
};

/** Creates the operations on volumes. Each writes its intent before it calls the driver, so that a later call can finish it. */
export function createVolumes(bridge: SizedBridge) {
  const { driver, records } = bridge;
  const { calls, secrets, timeoutMs } = driver;
  return {
    getVolume: ({ volumeId }) => [200, show(requireKnown(records, volumeId))],

    listVolumes({ limit, pageToken }) {
      const { entries, ...more } = readPage(records, 'volume', { limit, pageToken });
      return [200, { volumes: entries.map(show), ...more }];
    },

    async createVolume({ volumeId, body }) {
      const found = records.find('volume', volumeId);
      if (found && !isDeepStrictEqual(identityOf(found.spec), identityOf(body)))
        throw existsProblem(volumeId);
      if (found?.made) {
        if (!isWithin(found.made.sizeBytes, body)) throw existsProblem(volumeId);
        return [200, show(found)];
      }
      const wanted = found ?? toNew(bridge, volumeId, body);
      if (body.existing) return [201, show(await importDriverVolume(bridge, wanted, body.existing))];
      records.put('volume', wanted);
      const created = await createDriverVolume(bridge, wanted);
      if (!isWithin(created.made.sizeBytes, body)) throw existsProblem(volumeId);
      return [201, show(created)];
    },

    async deleteVolume({ volumeId }) {
      const found = records.find('volume', volumeId);
      if (!found) return [204];
      const [holder] = Object.keys(found.attachments);
      if (holder !== undefined)
        throw preconditionProblem(`volume "${volumeId}" is attached to node "${holder}"`);
      const handle =
        found.made?.handle ?? (await unlessRefused(() => createDriverVolume(bridge, found)))?.made.handle;
      if (handle !== undefined)
        await calls.controller.DeleteVolume({ volume_id: handle, secrets: secrets('provision') }, timeoutMs);
      records.drop('volume', volumeId);
      return [204];
    },
  } satisfies VendorOperations;
}

/** Finds a volume that the driver has made. NOT_FOUND if there is none, ABORTED while it is being created. */
export function requireReady(records: Records, volumeId: string): CreatedResource<'volume'> {
  const found = requireKnown(records, volumeId);
  if (isCreated(found)) return found;
  throw new Problem('ABORTED', `volume "${volumeId}" is being created; try again later`);
}

/** Reads one page of records of a kind. */
export function readPage<K extends 'volume' | 'snapshot'>(
  records: Records,
  kind: K,
  { limit = 0, pageToken }: { readonly limit?: number | undefined; readonly pageToken?: string | undefined },
) {
  const count = limit === 0 ? maxPage : Math.min(limit, maxPage);
  const after = pageToken === undefined ? '' : toAfter(pageToken);
  return toPage(records.page(kind, { after, limit: count + 1 }), { limit: count, pageToken });
}

/** Returns the last id of the page before, from a token that `toPage` made. It refuses any other token itself. */
function toAfter(pageToken: string): string {
  return pageToken.slice(pageToken.indexOf(':') + 1);
}

/** Makes the record of a new volume. INVALID_ARGUMENT for a source of a volume that exists. */
function toNew({ records, limits }: SizedBridge, id: string, spec: VolumeRecord['spec']): Known {
  if (spec.existing && spec.source)
    throw invalidProblem('a volume that the driver made before has no source; leave it out');
  const source = spec.source && sourceOf(records, spec.source);
  return {
    id,
    spec,
    createdAt: new Date().toISOString(),
    mutableParameters: spec.mutableParameters ?? {},
    holdsData: spec.source !== undefined || spec.existing !== undefined,
    attachments: {},
    ...(source && { source: source.content }),
    wantedBytes: wantedBytesFor(spec, limits, source?.sizeBytes),
  };
}

/** A source at the driver, and its size. */
type Source = { readonly content: VolumeContentSource; readonly sizeBytes: number };

/** Chooses the size to ask for. OUT_OF_RANGE if none is within the request's bounds and not below the source's size. */
function wantedBytesFor(body: VolumeRecord['spec'], limits: Offer['limits'], sourceBytes?: number): number {
  const { requiredBytes = 0, limitBytes = 0 } = body;
  const isFree = sourceBytes === undefined && requiredBytes + limitBytes === 0;
  // A volume that exists keeps its size.
  return body.existing || isFree ? 0 : sizeFor(body, limits, sourceBytes);
}

/** Finds the source at the driver. NOT_FOUND if it is missing. */
function sourceOf(records: Records, source: VolumeSource): Source {
  if (source.kind === 'volume') {
    const { handle, sizeBytes } = requireReady(records, source.volumeId).made;
    return { content: { volume: { volume_id: handle } }, sizeBytes };
  }
  const snapshot = records.find('snapshot', source.snapshotId);
  if (snapshot?.made) {
    const { handle, sizeBytes } = snapshot.made;
    return { content: { snapshot: { snapshot_id: handle } }, sizeBytes };
  }
  throw new Problem('NOT_FOUND', `there is no snapshot "${source.snapshotId}"`);
}

function requireKnown(records: Records, volumeId: string): Known {
  const found = records.find('volume', volumeId);
  if (found) return found;
  throw new Problem('NOT_FOUND', `there is no volume "${volumeId}"`);
}

/** The parts of a request that must be equal in a repetition. */
function identityOf({
  name,
  parameters = {},
  mutableParameters = {},
  source,
  existing,
}: VolumeRecord['spec']) {
  return { name, parameters, mutableParameters, source, existing };
}

function existsProblem(volumeId: string): Problem {
  return new Problem('ALREADY_EXISTS', `volume "${volumeId}" exists with other settings`);
}

export function show({ id, spec, createdAt, mutableParameters, attachments, made }: Known): Volume {
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

export function isReadonly({
  readonly,
  capability,
}: {
  readonly readonly: boolean;
  readonly capability: { readonly accessMode: string };
}): boolean {
  return readonly || capability.accessMode.endsWith('READER_ONLY');
}
