import { readParameterSchema, type ParameterSchema } from '../../api/schemas/parameters.ts';
import { sameJson } from '../../lib/json.ts';
import { expect, skip } from '../finding.ts';
import type { Kit } from '../fixtures/kit.ts';
import { must, should, type Chapter } from '../requirement.ts';

const times = 3;
const crowd = 3;

/** The requirements of chapter 7. */
export const capacity = {
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
      if (kind === 'volume' && reads.findFaults({}).length === 0) await kit.makeVolume();
    }
  }),
  'FL-7.2-1': must(
    'Every size is a multiple of `stepBytes`, from `minimumVolumeBytes` to `maximumVolumeBytes`, as far as the capabilities name these.',
  ).check(async kit => {
    const { minimumBytes, maximumBytes, stepBytes } = kit.sizes;
    const small = kit.smallSize();
    for (const requiredBytes of [0, 1, small, small + 1, small * 3 - 1]) {
      const limitBytes = requiredBytes === 0 ? small * 4 : 0;
      const { sizeBytes } = await kit.makeVolume({ requiredBytes, limitBytes });
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
      await kit.makeVolume({ requiredBytes: 1 });
      await kit.refuseVolume({ requiredBytes: 1, limitBytes: minimumBytes - 1 }, ['OUT_OF_RANGE']);
    }
    if (limits.maximumVolumeBytes !== undefined && maximumBytes < Number.MAX_SAFE_INTEGER)
      await kit.refuseVolume({ requiredBytes: maximumBytes + 1 }, ['OUT_OF_RANGE', 'RESOURCE_EXHAUSTED']);
  }),
  'FL-7.3-1': must(
    '`availableBytes` is a whole number, and the limits of volume sizes lie within those of the capabilities.',
    'capacity',
  ).check(async kit => {
    const { availableBytes, minimumVolumeBytes = 0, maximumVolumeBytes = Infinity } = await readCapacity(kit);
    expect(Number.isSafeInteger(availableBytes), `"availableBytes" is a whole number, not ${availableBytes}`);
    const { minimumBytes, maximumBytes } = kit.sizes;
    const isNamed = kit.capabilities.limits !== undefined;
    const isWithin = !isNamed || minimumVolumeBytes === 0 || minimumVolumeBytes >= minimumBytes;
    expect(isWithin, `"minimumVolumeBytes" is at least ${minimumBytes}, not ${minimumVolumeBytes}`);
    const isBelow = maximumVolumeBytes === Infinity || maximumVolumeBytes <= maximumBytes;
    expect(isBelow, `"maximumVolumeBytes" is at most ${maximumBytes}, not ${maximumVolumeBytes}`);
  }),
  'FL-7.3-2': must(
    'A volume larger than `availableBytes` is created in full, or is RESOURCE_EXHAUSTED or OUT_OF_RANGE and leaves nothing.',
    'capacity',
  ).check(async kit => {
    const { availableBytes } = await readCapacity(kit);
    const { stepBytes } = kit.sizes;
    const volumeId = kit.id();
    const requiredBytes = (Math.floor(availableBytes / stepBytes) + 1) * stepBytes;
    if (!Number.isSafeInteger(requiredBytes))
      throw skip(`${availableBytes} available bytes are more than a request can ask for`);
    const { code, body, exchange } = await kit.settle('createVolume', {
      volumeId,
      body: kit.specOf(volumeId, { requiredBytes }),
    });
    if (code === undefined)
      return expect(
        body.sizeBytes >= requiredBytes,
        `at least ${requiredBytes} bytes, not ${body.sizeBytes}`,
        exchange,
      );
    const isFull = code === 'RESOURCE_EXHAUSTED' || code === 'OUT_OF_RANGE';
    expect(isFull, `success, RESOURCE_EXHAUSTED or OUT_OF_RANGE, not ${code}`, exchange);
    await kit.expectNoVolume(volumeId);
  }),
  'FL-7.3-3': must(
    'Deleting a volume, a copy or a snapshot gives all its bytes back, also those of an expansion, and a refused request takes none.',
    'capacity',
  ).check(async kit => {
    const requiredBytes = countedSize(kit);
    for (const [name, use] of Object.entries(usesOf(kit, requiredBytes))) {
      const lost = await minOf(async () => {
        const before = await readCapacity(kit);
        for (let again = 0; again < times; again++) await use();
        return before.availableBytes - (await readCapacity(kit)).availableBytes;
      });
      const isBack = lost < (requiredBytes * times) / 2;
      expect(isBack, `deleting ${times} ${name} gives all their bytes back; ${lost} bytes are missing`);
    }
  }),
  'FL-7.3-4': should(
    'Creating a volume takes its bytes from `availableBytes` once, even if the request is repeated.',
    'capacity',
  ).check(async kit => {
    const requiredBytes = countedSize(kit);
    const taken = await minOf(async () => {
      const before = await readCapacity(kit);
      const volumeId = kit.id();
      const body = kit.specOf(volumeId, { requiredBytes });
      for (let again = 0; again < 4; again++) await kit.done('createVolume', { volumeId, body });
      const now = await readCapacity(kit);
      await kit.done('deleteVolume', { volumeId });
      return before.availableBytes - now.availableBytes;
    });
    const isOnce = taken < requiredBytes * 2;
    expect(isOnce, `a volume of ${requiredBytes} bytes takes its size once, not ${taken} bytes`);
  }),
  'FL-7.3-5': must(
    'If the server refuses volumes for which there is no space, concurrent requests do not share the same space.',
    'capacity',
  ).check(async kit => {
    const requiredBytes = await largerHalf(kit);
    const { id: first } = await kit.makeVolume({ requiredBytes });
    const alone = kit.id();
    const input = { volumeId: alone, body: kit.specOf(alone, { requiredBytes }) };
    const { code } = await kit.settle('createVolume', input);
    for (const volumeId of [first, alone]) await kit.done('deleteVolume', { volumeId });
    if (code !== 'RESOURCE_EXHAUSTED') throw skip('the vendor creates volumes beyond its available bytes');
    const ids = Array.from({ length: crowd }, () => kit.id());
    const answers = await Promise.all(
      ids.map(volumeId =>
        kit.settle('createVolume', { volumeId, body: kit.specOf(volumeId, { requiredBytes }) }),
      ),
    );
    const made = answers.filter(answer => answer.code === undefined).length;
    const expected = `at most one of ${crowd} volumes that each need more than half of the space, not ${made}`;
    expect(made <= 1, expected, answers.at(-1)?.exchange);
    for (const volumeId of ids) await kit.done('deleteVolume', { volumeId });
    if (kit.has('expand')) await expandTogether(kit, requiredBytes);
  }),
} satisfies Chapter;

/** Returns a size with space for one volume and not for two. */
async function largerHalf(kit: Kit): Promise<number> {
  if (kit.hasForeign) throw skip('other volumes at the server may change the available bytes');
  const { availableBytes } = await readCapacity(kit);
  const { stepBytes, maximumBytes } = kit.sizes;
  const sizeBytes = Math.ceil((availableBytes * 0.6) / stepBytes) * stepBytes;
  if (sizeBytes <= kit.smallSize(2) || sizeBytes > maximumBytes || !Number.isSafeInteger(sizeBytes))
    throw skip(`no volume can take more than half of the ${availableBytes} available bytes`);
  return sizeBytes;
}

/** Throws a fault if two volumes grow into the same space. */
async function expandTogether(kit: Kit, requiredBytes: number): Promise<void> {
  const volumes = [await kit.makeVolume(), await kit.makeVolume()];
  const calls = volumes.map(({ id: volumeId }) =>
    kit.settle('expandVolume', { volumeId, body: { requiredBytes } }),
  );
  const answers = await Promise.all(calls);
  const grown = answers.filter(({ code }) => code === undefined).length;
  expect(grown <= 1, `at most one of two volumes grows into the last space`, answers.at(-1)?.exchange);
  for (const { id: volumeId } of volumes) await kit.done('deleteVolume', { volumeId });
}

function readCapacity(kit: Kit) {
  return kit.done('getCapacity', { body: { capabilities: kit.specOf(kit.id()).capabilities } });
}

/** Returns a size that is larger than usual fluctuations of the available bytes. */
function countedSize(kit: Kit): number {
  if (!kit.has('capacity')) throw skip('the vendor does not offer capacity');
  if (kit.hasForeign) throw skip('other volumes at the server may change the available bytes');
  return kit.smallSize(64);
}

/** Makes the kinds of work that take bytes and give them back, by the names of the deleted resources. */
function usesOf(kit: Kit, requiredBytes: number): Readonly<Record<string, () => Promise<void>>> {
  const using = async (bytes: number, use: (volumeId: string) => Promise<unknown>): Promise<void> => {
    const { id: volumeId } = await kit.makeVolume({ requiredBytes: bytes });
    await use(volumeId);
    await kit.done('deleteVolume', { volumeId });
  };
  const refuse = async (volumeId: string): Promise<void> => {
    const impossible = { ...kit.specOf(kit.id()), requiredBytes, limitBytes: requiredBytes - 1 };
    await kit.settle('createVolume', { volumeId: kit.id(), body: impossible });
    const other = { ...kit.specOf(volumeId), requiredBytes: requiredBytes * 2 };
    await kit.settle('createVolume', { volumeId, body: other });
  };
  const expand = (volumeId: string) => kit.done('expandVolume', { volumeId, body: { requiredBytes } });
  const snapshot = async (volumeId: string): Promise<void> => {
    const { id: snapshotId } = await kit.takeSnapshot(volumeId);
    await kit.done('deleteSnapshot', { snapshotId });
  };
  const clone = async (volumeId: string): Promise<void> => {
    const copy = await kit.makeVolume({ source: { kind: 'volume', volumeId }, requiredBytes });
    await kit.done('deleteVolume', { volumeId: copy.id });
  };
  return {
    volumes: () => using(requiredBytes, refuse),
    ...(kit.has('expand') && { 'expanded volumes': () => using(kit.smallSize(), expand) }),
    ...(kit.has('snapshots') && { snapshots: () => using(requiredBytes, snapshot) }),
    ...(kit.has('clone') && { clones: () => using(requiredBytes, clone) }),
  };
}

/** Returns the smallest of a few measurements: other users of the same disks make a single one too large. */
async function minOf(measure: () => Promise<number>): Promise<number> {
  let min = Infinity;
  for (let again = 0; again < times && min > 0; again++) min = Math.min(min, await measure());
  return min;
}

/** Reads a schema; returns the error as text if it is faulty. */
function readSchema(schema: unknown): ParameterSchema | string {
  try {
    return readParameterSchema(schema);
  } catch (error) {
    return (error as Error).message;
  }
}
