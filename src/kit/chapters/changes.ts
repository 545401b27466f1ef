import { expect } from '../finding.ts';
import {
  attach,
  expectNoVolume,
  expectSame,
  makeNode,
  makeVolume,
  mutableOf,
  smallSize,
  specOf,
} from '../fixtures/fixtures.ts';
import type { Kit } from '../fixtures/kit.ts';
import { must, type Chapter } from '../requirement.ts';

/** The requirements of chapter 3, sections 5 to 8. */
export const changes = {
  'FL-3.5-1': must(
    'A volume is expanded to a size within the bounds of the request, and reads with that size.',
    'expand',
  ).check(async kit => {
    const { id: volumeId } = await makeVolume(kit);
    for (const bounds of [
      { requiredBytes: smallSize(kit, 2) },
      { requiredBytes: smallSize(kit, 3), limitBytes: smallSize(kit, 3) },
    ]) {
      const { sizeBytes } = await kit.done('expandVolume', { volumeId, body: bounds });
      const { requiredBytes, limitBytes = Infinity } = bounds;
      const isWithin = sizeBytes >= requiredBytes && sizeBytes <= limitBytes;
      expect(isWithin, `a size from ${requiredBytes} to ${limitBytes} bytes, not ${sizeBytes}`);
      const read = await kit.done('getVolume', { volumeId });
      expect(
        read.sizeBytes === sizeBytes,
        `reading the volume gives ${sizeBytes} bytes, not ${read.sizeBytes}`,
      );
    }
  }),
  'FL-3.5-2': must(
    'Expanding a volume that is large enough answers 200 and does not change it: a repeated request, or a smaller size.',
    'expand',
  ).check(async kit => {
    const { id: volumeId, sizeBytes } = await makeVolume(kit, { requiredBytes: smallSize(kit, 2) });
    for (const requiredBytes of [sizeBytes, smallSize(kit), 0]) {
      const { status, body, exchange } = await kit.settle('expandVolume', {
        volumeId,
        body: { requiredBytes },
      });
      const isSame = status === 200 && body.sizeBytes === sizeBytes;
      expect(isSame, `200 with the ${sizeBytes} bytes that the volume has`, exchange);
    }
  }),
  'FL-3.5-3': must(
    "A `limitBytes` below the volume's size is OUT_OF_RANGE, and the volume does not change.",
    'expand',
  ).check(async kit => {
    const volume = await makeVolume(kit, { requiredBytes: smallSize(kit, 2) });
    const body = { limitBytes: smallSize(kit) };
    await kit.refused('expandVolume', { volumeId: volume.id, body }, ['OUT_OF_RANGE']);
    await expectSame(kit, volume);
  }),
  'FL-3.5-4': must('Expanding a missing volume is NOT_FOUND.', 'expand').check(async kit => {
    const body = { requiredBytes: smallSize(kit) };
    await kit.refused('expandVolume', { volumeId: kit.id(), body }, ['NOT_FOUND']);
  }),
  'FL-3.5-5': must(
    'Expanding an attached volume works, or is FAILED_PRECONDITION and does not change the volume.',
    'expand',
  ).check(async kit => {
    const nodeId = await makeNode(kit);
    const volume = await makeVolume(kit);
    await attach(kit, volume.id, nodeId);
    const body = { requiredBytes: smallSize(kit, 2) };
    const { code, exchange } = await kit.settle('expandVolume', { volumeId: volume.id, body });
    if (code === 'FAILED_PRECONDITION') return expectSame(kit, volume);
    expect(code === undefined, `success or FAILED_PRECONDITION, not ${code}`, exchange);
    const { sizeBytes } = await kit.done('getVolume', { volumeId: volume.id });
    expect(sizeBytes >= body.requiredBytes, 'the attached volume has grown');
  }),
  'FL-3.6-1': must(
    'Modifying a volume changes the given mutable parameters, and keeps all other ones.',
    'modify',
  ).check(async kit => {
    const { name, values } = mutableOf(kit);
    const { id: volumeId } = await makeVolume(kit);
    for (const value of [...values, ...values.slice(0, 1)]) {
      const input = { volumeId, body: { mutableParameters: { [name]: value } } };
      for (let again = 0; again < 2; again++)
        requireValue(await kit.done('modifyVolume', input), name, value);
      await kit.done('modifyVolume', { volumeId, body: { mutableParameters: {} } });
      requireValue(await kit.done('getVolume', { volumeId }), name, value);
    }
  }),
  'FL-3.6-2': must(
    'An unknown mutable parameter is INVALID_ARGUMENT, and the request changes no parameter at all.',
    'modify',
  ).check(async kit => {
    const { name, values } = mutableOf(kit);
    const [before, after] = [values[0] ?? '', values[1] ?? values[0] ?? ''];
    const { id: volumeId } = await makeVolume(kit);
    await kit.done('modifyVolume', { volumeId, body: { mutableParameters: { [name]: before } } });
    const body = { mutableParameters: { [name]: after, 'no-such-parameter': 'x' } };
    await kit.refused('modifyVolume', { volumeId, body }, ['INVALID_ARGUMENT']);
    requireValue(await kit.done('getVolume', { volumeId }), name, before);
  }),
  'FL-3.6-3': must('Modifying a missing volume is NOT_FOUND.', 'modify').check(async kit => {
    const body = { mutableParameters: {} };
    await kit.refused('modifyVolume', { volumeId: kit.id(), body }, ['NOT_FOUND']);
  }),
  'FL-3.7-1': must(
    'The health of a volume without problems has no entries; the health of a missing volume is NOT_FOUND.',
    'health',
  ).check(async kit => {
    const { id: volumeId } = await makeVolume(kit);
    const { entries } = await kit.done('getVolumeHealth', { volumeId });
    expect(entries.length === 0, 'a new volume has no entries of health');
    await kit.refused('getVolumeHealth', { volumeId: kit.id() }, ['NOT_FOUND']);
  }),
  'FL-3.8-1': must(
    'A volume made from a volume names it as its source, and is at least as large.',
    'clone',
  ).check(async kit => {
    const source = await makeVolume(kit, { requiredBytes: smallSize(kit, 2) });
    const from = { kind: 'volume', volumeId: source.id } as const;
    for (const requiredBytes of [0, source.sizeBytes, source.sizeBytes * 2]) {
      const clone = await makeVolume(kit, { source: from, requiredBytes });
      const minBytes = Math.max(requiredBytes, source.sizeBytes);
      expect(clone.sizeBytes >= minBytes, `at least ${minBytes} bytes, not ${clone.sizeBytes}`);
      const named = clone.source?.kind === 'volume' && clone.source.volumeId === source.id;
      expect(named, `"source" names volume "${source.id}"`);
      await expectSame(kit, clone);
    }
    await expectSame(kit, source);
  }),
  'FL-3.8-2': must(
    'A missing source is NOT_FOUND, and a size below the size of the source is OUT_OF_RANGE; neither leaves a volume.',
    'clone',
  ).check(async kit => {
    const source = await makeVolume(kit, { requiredBytes: smallSize(kit, 2) });
    const missing = { kind: 'volume', volumeId: kit.id() } as const;
    await refuseCopy(kit, { source: missing }, 'NOT_FOUND');
    const from = { kind: 'volume', volumeId: source.id } as const;
    const limitBytes = smallSize(kit);
    await refuseCopy(kit, { source: from, requiredBytes: limitBytes, limitBytes }, 'OUT_OF_RANGE');
  }),
} satisfies Chapter;

/** Throws a fault unless creating the volume is refused with the code and leaves no volume. */
export async function refuseCopy(
  kit: Kit,
  more: Parameters<typeof specOf>[2],
  code: 'NOT_FOUND' | 'OUT_OF_RANGE',
): Promise<void> {
  const volumeId = kit.id();
  await kit.refused('createVolume', { volumeId, body: specOf(kit, volumeId, more) }, [code]);
  await expectNoVolume(kit, volumeId);
}

function requireValue(
  { mutableParameters = {} }: { readonly mutableParameters?: Readonly<Record<string, string>> | undefined },
  name: string,
  value: string,
): void {
  const found = mutableParameters[name];
  expect(found === value, `mutable parameter "${name}" is "${value}", not ${JSON.stringify(found)}`);
}
