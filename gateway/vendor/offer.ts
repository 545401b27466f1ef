import type { z } from 'zod';
import type { NamedOperation } from '../../src/api/operations.ts';
import { invalidProblem, Problem } from '../../src/api/problem.ts';
import type { Capability, capabilitiesSchema } from '../../src/api/storage.ts';
import type { SizeSpec, VolumeSource } from '../../src/api/volume.ts';
import { toParameters } from '../backends/rest/parameters.ts';
import { chooseSize } from '../volumes/size.ts';
import { readBy } from '../volumes/validate.ts';

/** What a vendor offers, as it answers it to `getCapabilities`. */
export type Offer = z.input<typeof capabilitiesSchema>;

/** A body that asks for what may not be offered. */
type Body = {
  readonly capability?: Capability;
  readonly capabilities?: readonly Capability[];
  readonly parameters?: Readonly<Record<string, string>>;
  readonly mutableParameters?: Readonly<Record<string, string>>;
  readonly source?: VolumeSource;
};

const noParameters = { type: 'object', additionalProperties: false };
/** What a vendor must offer for a volume to be made from something. */
const featureOf = { snapshot: 'restore', volume: 'clone' } as const;

/** Makes the check of a change's body: INVALID_ARGUMENT for what it asks for and is not offered. */
export function createOfferCheck({ accessModes, accessTypes, features, parameters = {} }: Offer) {
  const volume = toParameters(parameters.volume, 'volume');
  const snapshot = toParameters(parameters.snapshot, 'snapshot');
  const made = new Map([
    ['createVolume', volume],
    ['createSnapshot', snapshot],
    ['createGroup', snapshot],
  ]);
  const mutable = toParameters(features.includes('modify') ? parameters.mutable : noParameters, 'mutable');
  return ({ id }: NamedOperation, body: Body): void => {
    const { capability, capabilities = capability ? [capability] : [], source } = body;
    for (const { accessMode, accessType } of capabilities)
      if (!accessModes.includes(accessMode) || !accessTypes.includes(accessType))
        throw invalidProblem(`the access mode ${accessMode} for ${accessType} is not offered`);
    if (source && !features.includes(featureOf[source.kind]))
      throw invalidProblem(`a volume from a ${source.kind} is not offered`);
    const asked = made.get(id);
    if (asked) readBy(asked, body.parameters ?? {}, 'parameters');
    if (body.mutableParameters) readBy(mutable, body.mutableParameters, 'mutableParameters');
  };
}

const gibibyte = 2 ** 30;

/**
 * The size in bytes of what is asked for: the least within its bounds and the limits, and 1 GiB or what fits where no size is
 * asked. What is made from something is not smaller than that, `leastBytes`. OUT_OF_RANGE when there is none.
 */
export function sizeFor(asked: SizeSpec, limits: Offer['limits'] = {}, leastBytes = 0): number {
  const { requiredBytes = 0, limitBytes = 0 } = asked;
  if (requiredBytes > 0 && requiredBytes < leastBytes)
    throw new Problem('OUT_OF_RANGE', `requiredBytes of ${requiredBytes} is less than ${leastBytes}`);
  const { minimumVolumeBytes = 1, maximumVolumeBytes = Number.MAX_SAFE_INTEGER, stepBytes = 1 } = limits;
  return chooseSize(
    { requiredBytes: requiredBytes || leastBytes, limitBytes },
    {
      minimumBytes: minimumVolumeBytes,
      maximumBytes: maximumVolumeBytes,
      stepBytes,
      defaultBytes: gibibyte,
    },
  );
}
