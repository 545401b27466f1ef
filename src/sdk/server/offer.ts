import type { z } from 'zod';
import type { NamedOperation } from '../../api/operations.ts';
import { invalidProblem, Problem } from '../../api/problem.ts';
import type { Capability, capabilitiesSchema } from '../../api/storage.ts';
import type { ExistingVolume, SizeSpec, VolumeSource } from '../../api/volume.ts';
import { ignoredKeywords, toParameters } from '../../../gateway/backends/rest/parameters.ts';
import { chooseSize } from '../../../gateway/volumes/size.ts';
import { readBy } from '../../../gateway/volumes/validate.ts';

/** A vendor's capabilities, as it answers them to `getCapabilities`. */
export type Offer = z.input<typeof capabilitiesSchema>;

/** The parts of a request's body that the offer may forbid. */
type Body = {
  readonly capability?: Capability;
  readonly capabilities?: readonly Capability[];
  readonly parameters?: Readonly<Record<string, string>>;
  readonly mutableParameters?: Readonly<Record<string, string>>;
  readonly source?: VolumeSource;
  readonly existing?: ExistingVolume;
};

const noParameters = { type: 'object', additionalProperties: false };
/** The feature that a vendor needs for each kind of source. */
const featureOf = { snapshot: 'restore', volume: 'clone' } as const;

/**
 * Creates a check of requests, which throws INVALID_ARGUMENT for access modes, sources and parameters that are not offered.
 * Throws at once when a schema of parameters has keywords that the check would ignore.
 */
export function createOfferCheck({ accessModes, accessTypes, features, parameters = {} }: Offer) {
  const ignored = ignoredKeywords({ parameters });
  if (ignored.length > 0)
    throw new Error(
      `remove the keywords ${ignored.join(', ')} from the schemas of parameters: they are not supported`,
    );
  const volume = toParameters(parameters.volume, 'volume');
  const snapshot = toParameters(parameters.snapshot, 'snapshot');
  const schemas = new Map([
    ['createVolume', volume],
    ['createSnapshot', snapshot],
    ['createGroup', snapshot],
  ]);
  const mutable = toParameters(features.includes('modify') ? parameters.mutable : noParameters, 'mutable');
  return ({ id }: NamedOperation, body: Body): void => {
    const { capability, capabilities = capability ? [capability] : [], source, existing } = body;
    for (const { accessMode, accessType } of capabilities)
      if (!accessModes.includes(accessMode) || !accessTypes.includes(accessType))
        throw invalidProblem(`the access mode ${accessMode} for ${accessType} is not offered`);
    if (existing && !features.includes('import'))
      throw invalidProblem('volumes that a driver made before are not offered');
    if (source && !features.includes(featureOf[source.kind]))
      throw invalidProblem(`a volume from a ${source.kind} is not offered`);
    const schema = schemas.get(id);
    if (schema) readBy(schema, body.parameters ?? {}, 'parameters');
    if (body.mutableParameters) readBy(mutable, body.mutableParameters, 'mutableParameters');
  };
}

const gibibyte = 2 ** 30;

/**
 * Chooses a volume's size in bytes: the smallest within the bounds of the request and the limits, or 1 GiB (less if the
 * limits require it) when the request has no size. `sourceBytes`, the size of the source or of the present volume, is a
 * lower bound. Throws OUT_OF_RANGE when no size is possible.
 */
export function sizeFor(spec: SizeSpec, limits: Offer['limits'] = {}, sourceBytes = 0): number {
  const { requiredBytes = 0, limitBytes = 0 } = spec;
  if (requiredBytes > 0 && requiredBytes < sourceBytes)
    throw new Problem(
      'OUT_OF_RANGE',
      `requiredBytes ${requiredBytes} is less than ${sourceBytes}, the size of the source or the volume`,
    );
  const { minimumVolumeBytes = 1, maximumVolumeBytes = Number.MAX_SAFE_INTEGER, stepBytes = 1 } = limits;
  return chooseSize(
    { requiredBytes: requiredBytes || sourceBytes, limitBytes },
    {
      minimumBytes: minimumVolumeBytes,
      maximumBytes: maximumVolumeBytes,
      stepBytes,
      defaultBytes: gibibyte,
    },
  );
}
