import type { Volume, VolumeSource } from '../../api/volume.ts';
import { sameJson } from '../../lib/json.ts';
import { expect } from '../finding.ts';
import type { Kit } from '../fixtures/kit.ts';
import { mutableOf } from '../fixtures/mutations.ts';
import { must, type Chapter } from '../requirement.ts';

/** The requirements of chapter 3, sections 5 to 8. */
export const changes = {
  'FL-3.5-1': must(
    'A volume is expanded to a size within the bounds of the request, and reads with that size.',
    'expand',
  ).check(async kit => {
    const { id: volumeId } = await kit.createVolume();
    for (const bounds of [
      { requiredBytes: kit.smallSize(2) },
      { requiredBytes: kit.smallSize(3), limitBytes: kit.smallSize(3) },
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
    const { id: volumeId, sizeBytes } = await kit.createVolume({ requiredBytes: kit.smallSize(2) });
    for (const requiredBytes of [sizeBytes, kit.smallSize(), 0]) {
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
    const volume = await kit.createVolume({ requiredBytes: kit.smallSize(2) });
    const body = { limitBytes: kit.smallSize() };
    await kit.refused('expandVolume', { volumeId: volume.id, body }, ['OUT_OF_RANGE']);
    await kit.expectSame(volume);
  }),
  'FL-3.5-4': must('Expanding a missing volume is NOT_FOUND.', 'expand').check(async kit => {
    const body = { requiredBytes: kit.smallSize() };
    await kit.refused('expandVolume', { volumeId: kit.id(), body }, ['NOT_FOUND']);
  }),
  'FL-3.5-5': must(
    'Expanding an attached volume works, or is FAILED_PRECONDITION and does not change the volume.',
    'expand',
  ).check(async kit => {
    const volume = await kit.createVolume();
    await kit.attach(volume.id, await kit.createNode());
    const body = { requiredBytes: kit.smallSize(2) };
    const { code, exchange } = await kit.settle('expandVolume', { volumeId: volume.id, body });
    if (code === 'FAILED_PRECONDITION') return kit.expectSame(volume);
    expect(code === undefined, `success or FAILED_PRECONDITION, not ${code}`, exchange);
    const { sizeBytes } = await kit.done('getVolume', { volumeId: volume.id });
    expect(sizeBytes >= body.requiredBytes, 'the attached volume has grown');
  }),
  'FL-3.6-1': must(
    'Modifying a volume changes the given mutable parameters, and keeps all other ones.',
    'modify',
  ).check(async kit => {
    const { name, values } = mutableOf(kit);
    const { id: volumeId } = await kit.createVolume();
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
    const { id: volumeId } = await kit.createVolume();
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
    const { id: volumeId } = await kit.createVolume();
    const { entries } = await kit.done('getVolumeHealth', { volumeId });
    expect(entries.length === 0, 'a new volume has no entries of health');
    await kit.refused('getVolumeHealth', { volumeId: kit.id() }, ['NOT_FOUND']);
  }),
  'FL-3.8-1': must(
    'A volume made from a volume names it as its source, and is at least as large.',
    'clone',
  ).check(async kit => {
    const source = await kit.createVolume({ requiredBytes: kit.smallSize(2) });
    await checkCopies(kit, { kind: 'volume', volumeId: source.id }, source.sizeBytes);
    await kit.expectSame(source);
  }),
  'FL-3.8-2': must(
    'A missing source is NOT_FOUND, and a size below the size of the source is OUT_OF_RANGE; neither leaves a volume.',
    'clone',
  ).check(async kit => {
    const { id: volumeId } = await kit.createVolume({ requiredBytes: kit.smallSize(2) });
    await refuseCopies(kit, { kind: 'volume', volumeId: kit.id() }, { kind: 'volume', volumeId });
  }),
  'FL-3.8-3': must(
    'A volume that was made from a volume stays when its source is deleted and the request is repeated, or deleting the source is FAILED_PRECONDITION.',
    'clone',
  ).check(async kit => {
    const source = { kind: 'volume', volumeId: (await kit.createVolume()).id } as const;
    await deleteSource(kit, source, await kit.createVolume({ source, requiredBytes: 0 }));
  }),
} satisfies Chapter;

/** Throws a fault unless volumes made from the source name it, and are at least as large. */
export async function checkCopies(kit: Kit, source: VolumeSource, sizeBytes: number): Promise<void> {
  const id = source.kind === 'volume' ? source.volumeId : source.snapshotId;
  for (const requiredBytes of [0, sizeBytes, sizeBytes * 2]) {
    const copy = await kit.createVolume({ source, requiredBytes });
    const minBytes = Math.max(requiredBytes, sizeBytes);
    expect(copy.sizeBytes >= minBytes, `at least ${minBytes} bytes, not ${copy.sizeBytes}`);
    expect(sameJson(copy.source, source), `"source" names ${source.kind} "${id}"`);
    await kit.expectSame(copy);
  }
}

/** Throws a fault unless a volume from a missing source is refused, and one that is smaller than its source. */
export async function refuseCopies(kit: Kit, missing: VolumeSource, source: VolumeSource): Promise<void> {
  await kit.refuseVolume({ source: missing }, ['NOT_FOUND']);
  const limitBytes = kit.smallSize();
  await kit.refuseVolume({ source, requiredBytes: limitBytes, limitBytes }, ['OUT_OF_RANGE']);
}

/** Deletes the source of a copy, and repeats the request for the copy. Throws a fault unless the copy stays as it is. */
export async function deleteSource(kit: Kit, source: VolumeSource, copy: Volume) {
  const deleted =
    source.kind === 'volume'
      ? await kit.settle('deleteVolume', { volumeId: source.volumeId })
      : await kit.settle('deleteSnapshot', { snapshotId: source.snapshotId });
  const { code, exchange } = deleted;
  const isKnown = code === undefined || code === 'FAILED_PRECONDITION';
  expect(isKnown, `204 or FAILED_PRECONDITION, not ${code}`, exchange);
  await kit.expectSame(copy);
  // A server may look for the source first, and then answer NOT_FOUND.
  const body = kit.specOf(copy.id, { source, requiredBytes: 0 });
  const { code: again, exchange: repeated } = await kit.settle('createVolume', { volumeId: copy.id, body });
  const isRepeated = again === undefined || again === 'NOT_FOUND';
  expect(isRepeated, `200 or NOT_FOUND to the repeated request, not ${again}`, repeated);
  await kit.expectSame(copy);
  return deleted;
}

function requireValue(
  { mutableParameters = {} }: { readonly mutableParameters?: Readonly<Record<string, string>> | undefined },
  name: string,
  value: string,
): void {
  const found = mutableParameters[name];
  expect(found === value, `mutable parameter "${name}" is "${value}", not ${JSON.stringify(found)}`);
}
