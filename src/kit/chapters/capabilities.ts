import { readParameterSchema, type ParameterSchema } from '../../api/schemas/parameters.ts';
import { sameJson } from '../../lib/json.ts';
import { expect, skip } from '../finding.ts';
import { must, type Chapter } from '../requirement.ts';

const times = 3;

/** The requirements of chapter 7, sections 1 and 2. */
export const capabilities = {
  'FL-7.1-1': must(
    'The capabilities are the same in every answer, until the vendor changes its offer.',
  ).check(async kit => {
    for (let again = 0; again < times; again++) {
      const now = await kit.done('getCapabilities', {});
      expect(sameJson(now, kit.capabilities), 'the same capabilities as at the start');
    }
  }),
  'FL-7.1-2': must(
    'The capabilities name at least one access mode and one access type, and with each feature the features that it needs.',
  ).check(async kit => {
    const { accessModes, accessTypes } = await kit.done('getCapabilities', {});
    expect(accessModes.length > 0 && accessTypes.length > 0, 'at least one access mode and one access type');
    const needs = { restore: 'snapshots', groups: 'snapshots', changes: 'snapshots' } as const;
    for (const [feature, needed] of Object.entries(needs) as [keyof typeof needs, 'snapshots'][])
      expect(!kit.has(feature) || kit.has(needed), `feature "${feature}" comes with "${needed}"`);
  }),
  'FL-7.1-3': must(
    'A schema of parameters is a JSON Schema of at most 64 KiB with only the keywords named above, and parameters that match it are accepted.',
  ).check(async kit => {
    const { parameters } = kit.capabilities;
    if (!parameters) throw skip('the vendor publishes no schema of parameters');
    for (const [kind, schema] of Object.entries(parameters)) {
      const reads = readSchema(schema);
      expect(
        typeof reads === 'object',
        `the schema of ${kind} parameters is a JSON Schema: ${String(reads)}`,
      );
      const others = reads.ignored.join(', ');
      expect(others === '', `the schema of ${kind} parameters has no other keywords, such as ${others}`);
      if (kind === 'volume' && reads.findFaults({}).length === 0) await kit.createVolume();
    }
  }),
  'FL-7.2-1': must(
    'Every size is a multiple of `stepBytes`, from `minimumVolumeBytes` to `maximumVolumeBytes`, as far as the capabilities name these.',
  ).check(async kit => {
    const { minimumBytes, maximumBytes, stepBytes } = kit.sizes;
    const small = kit.smallSize();
    for (const requiredBytes of [0, 1, small, small + 1, small * 3 - 1]) {
      const limitBytes = requiredBytes === 0 ? small * 4 : 0;
      const { sizeBytes } = await kit.createVolume({ requiredBytes, limitBytes });
      const isSize = sizeBytes >= minimumBytes && sizeBytes <= maximumBytes && sizeBytes % stepBytes === 0;
      expect(
        isSize,
        `a size of ${minimumBytes} to ${maximumBytes} bytes in steps of ${stepBytes}, not ${sizeBytes}`,
      );
    }
  }),
  'FL-7.2-2': must(
    'A size below the minimum is raised to it, or is OUT_OF_RANGE if `limitBytes` forbids that; a size above the maximum is OUT_OF_RANGE or RESOURCE_EXHAUSTED.',
  ).check(async kit => {
    const { minimumBytes, maximumBytes } = kit.sizes;
    const { limits } = kit.capabilities;
    if (!limits) throw skip('the vendor publishes no limits');
    if (minimumBytes > 1) {
      await kit.createVolume({ requiredBytes: 1 });
      await kit.refuseVolume({ requiredBytes: 1, limitBytes: minimumBytes - 1 }, ['OUT_OF_RANGE']);
    }
    if (limits.maximumVolumeBytes !== undefined && maximumBytes < Number.MAX_SAFE_INTEGER)
      await kit.refuseVolume({ requiredBytes: maximumBytes + 1 }, ['OUT_OF_RANGE', 'RESOURCE_EXHAUSTED']);
  }),
} satisfies Chapter;

/** Reads a schema; returns the error as text if it is faulty. */
function readSchema(schema: unknown): ParameterSchema | string {
  try {
    return readParameterSchema(schema);
  } catch (error) {
    return (error as Error).message;
  }
}
