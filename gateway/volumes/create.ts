import { Problem } from '../../src/api/problem.ts';
import { showSegments, type Segments } from '../../src/api/topology.ts';
import type { Backend, CreatedVolume, VolumeSource } from '../backend.ts';
import { sameJson } from '../../src/lib/json.ts';
import type { RecordedSpec, VolumeRecord } from '../tables/volumes.ts';
import { chooseSize } from './size.ts';
import { isWithin } from './validate.ts';
import { placeOfSource, sizeOfSource } from './sources.ts';
import { isOneOf, meets, type Requirement } from './placement.ts';

/** A volume that is recorded, with what it is filled from. */
export type Making = { readonly record: VolumeRecord; readonly source: VolumeSource | undefined };
/** A volume that is there; `created` when it was not there before. */
export type Made = { readonly record: VolumeRecord; readonly created: boolean };

/** A volume as it is recorded at first. */
export function newRecord(
  asked: Pick<VolumeRecord, 'id' | 'cluster' | 'name'> & { readonly spec: RecordedSpec },
): VolumeRecord {
  return {
    ...asked,
    kind: 'volume',
    state: 'creating',
    sizeBytes: 0,
    context: {},
    createdAtMs: Date.now(),
    mutableParameters: asked.spec.mutableParameters ?? {},
    nodeExpansionRequired: false,
    usedRaw: false,
    pending: {},
    place: undefined,
    claim: undefined,
  };
}

/** What the recorded volume was asked to be must be what is asked now; its size is compared once it is made. */
export function requireSame(known: VolumeRecord, asked: VolumeRecord): void {
  if (known.name !== asked.name)
    throw new Problem('ALREADY_EXISTS', `volume "${known.id}" is there with the name "${known.name}"`);
  if (!sameJson(known.spec.parameters, asked.spec.parameters))
    throw new Problem('ALREADY_EXISTS', `volume "${known.id}" is there with other parameters`);
  if (!sameJson(known.spec.mutableParameters ?? {}, asked.spec.mutableParameters ?? {}))
    throw new Problem('ALREADY_EXISTS', `volume "${known.id}" was made with other mutable parameters`);
  if (!sameJson(known.spec.source, asked.spec.source))
    throw new Problem('ALREADY_EXISTS', `volume "${known.id}" was made from another source`);
}

/** A copy is never cut off: what is asked for must hold all of the source, or OUT_OF_RANGE. */
export function requireNotSmaller({ spec }: VolumeRecord, source: VolumeSource | undefined): void {
  const sizeBytes = sizeOfSource(source);
  for (const bytes of [spec.requiredBytes ?? 0, spec.limitBytes ?? 0])
    if (bytes > 0 && bytes < sizeBytes)
      throw new Problem(
        'OUT_OF_RANGE',
        `the ${source?.kind} to make it from has ${sizeBytes} bytes, more than the ${bytes} asked for`,
      );
}

/**
 * The places in which the volume may be now: those that were asked for, and of them only the source's own. Undefined
 * when the storage has no places; RESOURCE_EXHAUSTED when none is left.
 */
export function requirePlaces(
  { places: known }: Backend,
  { record: { id, spec }, source }: Making,
): readonly Segments[] | undefined {
  if (!known) return undefined;
  const beside = placeOfSource(source);
  const asked = spec.places?.filter(place => isOneOf(place, known)) ?? known;
  const places = beside ? asked.filter(place => isOneOf(place, [beside])) : asked;
  if (places.length > 0) return places;
  const besideIt = beside ? `, and its ${source?.kind} is in "${showSegments(beside)}"` : '';
  throw new Problem(
    'RESOURCE_EXHAUSTED',
    `volume "${id}" cannot be where it is asked for: the storage is in ${showPlaces(known)}${besideIt}`,
  );
}

/** A volume of a size outside the bounds, or in another place, is never reported as made, whoever made it. */
export async function makeWithin(backend: Backend, making: Making): Promise<CreatedVolume> {
  const { id } = making.record;
  const places = await findPlaces(backend, making);
  const made = await create(backend, making, places);
  if (!places) return made;
  const place = made.place ?? (places.length === 1 ? places[0] : undefined);
  if (place && isOneOf(place, places)) return { ...made, place };
  const where = made.place ? `in "${showSegments(made.place)}"` : 'and did not say where';
  throw new Problem('UNAVAILABLE', `the storage made volume "${id}" ${where}, which was not asked for`);
}

/** When the storage is not any more where the volume was to be, what was begun of it is removed. */
async function findPlaces(backend: Backend, making: Making): Promise<readonly Segments[] | undefined> {
  try {
    return requirePlaces(backend, making);
  } catch (error) {
    await backend.delete(making.record);
    throw error;
  }
}

async function create(
  backend: Backend,
  { record: { id, spec }, source }: Making,
  places: readonly Segments[] | undefined,
): Promise<CreatedVolume> {
  const { limitBytes = 0, parameters = {}, mutableParameters = {}, capabilities } = spec;
  const leastBytes = Math.max(spec.requiredBytes ?? 0, sizeOfSource(source));
  const requiredBytes = backend.sizes
    ? chooseSize({ requiredBytes: leastBytes, limitBytes }, backend.sizes)
    : leastBytes;
  const made = await backend.create({
    id,
    requiredBytes,
    limitBytes,
    parameters,
    capabilities,
    ...(source && { source }),
    ...(backend.modification && { mutableParameters }),
    ...(places && { places }),
  });
  if (!isWithin(made.sizeBytes, { requiredBytes, limitBytes }))
    throw new Problem(
      'UNAVAILABLE',
      `the storage made volume "${id}" with ${made.sizeBytes} bytes, which was not asked for`,
    );
  return made;
}

/** ALREADY_EXISTS when the volume has a size, or is in a place, outside of what is asked. */
export function requireFitting(
  { id, sizeBytes, place }: VolumeRecord,
  { spec }: VolumeRecord,
  requirement: Requirement,
): void {
  if (!isWithin(sizeBytes, spec))
    throw new Problem(
      'ALREADY_EXISTS',
      `volume "${id}" is there with ${sizeBytes} bytes, outside of the size asked for`,
    );
  if (place && !meets(place, requirement))
    throw new Problem(
      'ALREADY_EXISTS',
      `volume "${id}" is there in "${showSegments(place)}", which is not where it is asked for`,
    );
}

function showPlaces(places: readonly Segments[]): string {
  return places.map(place => `"${showSegments(place)}"`).join(', ');
}
