import { z } from 'zod';
import { sameJson } from '../../../lib/json.ts';
import type { Checks } from '../check.ts';
import { expect, skip } from '../finding.ts';
import { expectNoVolume, makeVolume, sizesOf, smallSize, specOf } from '../kit/fixtures.ts';
import type { Kit } from '../kit/kit.ts';

const times = 3;

/** Chapter 7. */
export const capacity: Checks = {
  async 'FL-7.1-1'(kit) {
    for (let again = 0; again < times; again++) {
      const now = await kit.done('getCapabilities', {});
      expect(sameJson(now, kit.capabilities), 'the capabilities are as they were at the start');
    }
  },
  async 'FL-7.1-2'(kit) {
    const { accessModes, accessTypes } = await kit.done('getCapabilities', {});
    expect(accessModes.length > 0 && accessTypes.length > 0, 'at least one access mode and one access type');
    const needs = { restore: 'snapshots', groups: 'snapshots', changes: 'snapshots' } as const;
    for (const [feature, needed] of Object.entries(needs) as [keyof typeof needs, 'snapshots'][])
      expect(!kit.has(feature) || kit.has(needed), `feature "${feature}" comes with "${needed}"`);
  },
  async 'FL-7.1-3'(kit) {
    const { parameters } = kit.capabilities;
    if (!parameters) throw skip('the vendor names no schemas of parameters');
    for (const [kind, schema] of Object.entries(parameters)) {
      const reads = readSchema(schema);
      expect(reads, `the schema of ${kind} parameters is a JSON Schema`);
      if (kind === 'volume' && reads.safeParse({}).success) await makeVolume(kit);
    }
  },
  async 'FL-7.2-1'(kit) {
    const { minimumBytes, maximumBytes, stepBytes } = sizesOf(kit);
    const small = smallSize(kit);
    for (const requiredBytes of [0, 1, small, small + 1, small * 3 - 1]) {
      const limitBytes = requiredBytes === 0 ? small * 4 : 0;
      const { sizeBytes } = await makeVolume(kit, { requiredBytes, limitBytes });
      const isSize = sizeBytes >= minimumBytes && sizeBytes <= maximumBytes && sizeBytes % stepBytes === 0;
      expect(
        isSize,
        `a size of ${minimumBytes} to ${maximumBytes} bytes in steps of ${stepBytes}, not ${sizeBytes}`,
      );
    }
  },
  async 'FL-7.2-2'(kit) {
    const { minimumBytes, maximumBytes } = sizesOf(kit);
    const { limits } = kit.capabilities;
    if (!limits) throw skip('the vendor names no limits');
    if (minimumBytes > 1) {
      await makeVolume(kit, { requiredBytes: 1 });
      await refuseSize(kit, { requiredBytes: 1, limitBytes: minimumBytes - 1 }, ['OUT_OF_RANGE']);
    }
    if (limits.maximumVolumeBytes !== undefined && maximumBytes < Number.MAX_SAFE_INTEGER)
      await refuseSize(kit, { requiredBytes: maximumBytes + 1 }, ['OUT_OF_RANGE', 'RESOURCE_EXHAUSTED']);
  },
  async 'FL-7.3-1'(kit) {
    const { availableBytes, minimumVolumeBytes = 0, maximumVolumeBytes = Infinity } = await readCapacity(kit);
    expect(Number.isSafeInteger(availableBytes), 'a whole number of bytes is available');
    const { minimumBytes, maximumBytes } = sizesOf(kit);
    const isNamed = kit.capabilities.limits !== undefined;
    const isWithin = !isNamed || minimumVolumeBytes === 0 || minimumVolumeBytes >= minimumBytes;
    expect(isWithin, `"minimumVolumeBytes" is at least ${minimumBytes}, not ${minimumVolumeBytes}`);
    const isBelow = maximumVolumeBytes === Infinity || maximumVolumeBytes <= maximumBytes;
    expect(isBelow, `"maximumVolumeBytes" is at most ${maximumBytes}, not ${maximumVolumeBytes}`);
  },
  async 'FL-7.3-2'(kit) {
    const { availableBytes } = await readCapacity(kit);
    const { stepBytes } = sizesOf(kit);
    const volumeId = kit.id();
    const requiredBytes = (Math.floor(availableBytes / stepBytes) + 1) * stepBytes;
    if (!Number.isSafeInteger(requiredBytes)) throw skip('what is available has no bounds');
    const { code, body, exchange } = await kit.settle('createVolume', {
      volumeId,
      body: specOf(kit, volumeId, { requiredBytes }),
    });
    if (code === undefined)
      return expect(body.sizeBytes >= requiredBytes, 'the volume has the size', exchange);
    const isFull = code === 'RESOURCE_EXHAUSTED' || code === 'OUT_OF_RANGE';
    expect(isFull, `success, RESOURCE_EXHAUSTED or OUT_OF_RANGE, not ${code}`, exchange);
    await expectNoVolume(kit, volumeId);
  },
  async 'FL-7.3-3'(kit) {
    const requiredBytes = countedSize(kit);
    const lost = await leastOf(async () => {
      const before = await readCapacity(kit);
      for (let again = 0; again < times; again++) {
        const { id: volumeId } = await makeVolume(kit, { requiredBytes });
        const impossible = { ...specOf(kit, kit.id()), requiredBytes, limitBytes: requiredBytes - 1 };
        await kit.settle('createVolume', { volumeId: kit.id(), body: impossible });
        await kit.done('deleteVolume', { volumeId });
      }
      return before.availableBytes - (await readCapacity(kit)).availableBytes;
    });
    const isBack = lost < (requiredBytes * times) / 2;
    expect(
      isBack,
      `as much is available as before ${times} volumes came and went; ${lost} bytes are missing`,
    );
  },
  async 'FL-7.3-4'(kit) {
    const requiredBytes = countedSize(kit);
    const taken = await leastOf(async () => {
      const before = await readCapacity(kit);
      const volumeId = kit.id();
      const body = specOf(kit, volumeId, { requiredBytes });
      for (let again = 0; again < 4; again++) await kit.done('createVolume', { volumeId, body });
      const now = await readCapacity(kit);
      await kit.done('deleteVolume', { volumeId });
      return before.availableBytes - now.availableBytes;
    });
    const isOnce = taken < requiredBytes * 2;
    expect(isOnce, `one volume of ${requiredBytes} bytes takes them once, not ${taken}`);
  },
};

function readCapacity(kit: Kit) {
  return kit.done('getCapacity', { body: { capabilities: specOf(kit, kit.id()).capabilities } });
}

/** A size that stands out from what else changes what is available. */
function countedSize(kit: Kit): number {
  if (!kit.has('capacity')) throw skip('the vendor does not offer capacity');
  if (kit.hasForeign) throw skip('others take from what is available, too');
  return smallSize(kit, 64);
}

/** The least of a few measurements: others may use the same disks. */
async function leastOf(measure: () => Promise<number>): Promise<number> {
  let least = Infinity;
  for (let again = 0; again < times && least > 0; again++) least = Math.min(least, await measure());
  return least;
}

function readSchema(schema: unknown): z.ZodType | undefined {
  try {
    return z.fromJSONSchema(schema as never);
  } catch {
    return undefined;
  }
}

async function refuseSize(
  kit: Kit,
  bounds: { readonly requiredBytes: number; readonly limitBytes?: number },
  codes: readonly ('OUT_OF_RANGE' | 'RESOURCE_EXHAUSTED')[],
): Promise<void> {
  const volumeId = kit.id();
  await kit.refused('createVolume', { volumeId, body: specOf(kit, volumeId, bounds) }, codes);
  await expectNoVolume(kit, volumeId);
}
