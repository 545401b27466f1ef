import { Problem } from '../src/api/problem.ts';
import type { Backend, CreatedVolume, VolumeSource } from './backend.ts';
import { sameJson } from './json.ts';
import type { RecordedSpec, VolumeRecord } from './records/volumes.ts';
import { isWithin } from './requirements.ts';
import { sizeOfSource } from './sources.ts';

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

/** A volume of a size outside the bounds is never reported as made, whoever made it. */
export async function makeWithin(
  backend: Backend,
  { record: { id, spec }, source }: Making,
): Promise<CreatedVolume> {
  const { limitBytes = 0, parameters = {}, mutableParameters = {}, capabilities } = spec;
  const requiredBytes = Math.max(spec.requiredBytes ?? 0, sizeOfSource(source));
  const made = await backend.create({
    id,
    requiredBytes,
    limitBytes,
    parameters,
    capabilities,
    ...(source && { source }),
    ...(backend.modification && { mutableParameters }),
  });
  if (!isWithin(made.sizeBytes, { requiredBytes, limitBytes }))
    throw new Problem(
      'UNAVAILABLE',
      `the storage made volume "${id}" with ${made.sizeBytes} bytes, which was not asked for`,
    );
  return made;
}

/** ALREADY_EXISTS when the volume has a size outside of what is asked. */
export function requireFitting({ id, sizeBytes }: VolumeRecord, { spec }: VolumeRecord): void {
  if (!isWithin(sizeBytes, spec))
    throw new Problem(
      'ALREADY_EXISTS',
      `volume "${id}" is there with ${sizeBytes} bytes, outside of the size asked for`,
    );
}
