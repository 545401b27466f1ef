import type { Snapshot } from '../../api/snapshot.ts';
import { sameJson } from '../../lib/json.ts';
import { expect } from '../finding.ts';
import {
  expectNoVolume,
  expectSame,
  listAll,
  makeVolume,
  nameOf,
  smallSize,
  takeSnapshot,
} from '../fixtures/fixtures.ts';
import type { Kit } from '../fixtures/kit.ts';
import { refuseCopy } from './changes.ts';
import { must, type Chapter } from '../requirement.ts';

const crowd = 6;

/** The requirements of chapter 5, sections 1 to 3. */
export const snapshots = {
  'FL-5.1-1': must(
    "Creating a snapshot answers with its name, its volume and the volume's size, and the snapshot becomes `ready`.",
    'snapshots',
  ).check(async kit => {
    const { id: volumeId, sizeBytes } = await makeVolume(kit);
    const snapshot = await takeSnapshot(kit, volumeId);
    expect(
      snapshot.name === nameOf(snapshot.id),
      `the name "${nameOf(snapshot.id)}", not "${snapshot.name}"`,
    );
    expect(snapshot.volumeId === volumeId, `"volumeId" is "${volumeId}", not "${snapshot.volumeId}"`);
    expect(
      snapshot.sizeBytes === sizeBytes,
      `the ${sizeBytes} bytes of the volume, not ${snapshot.sizeBytes}`,
    );
  }),
  'FL-5.1-2': must(
    'A repeated request answers with the same snapshot, including its `createdAt`.',
    'snapshots',
  ).check(async kit => {
    const { id: volumeId } = await makeVolume(kit);
    const first = await takeSnapshot(kit, volumeId);
    const body = { name: first.name, volumeId };
    for (let again = 0; again < 3; again++)
      requireOne(first, await kit.done('createSnapshot', { snapshotId: first.id, body }));
    await expectListedOnce(kit, first);
  }),
  'FL-5.1-3': must(
    'A request for the same id with another volume is ALREADY_EXISTS, and the snapshot does not change.',
    'snapshots',
  ).check(async kit => {
    const [one, other] = [await makeVolume(kit), await makeVolume(kit)];
    const first = await takeSnapshot(kit, one.id);
    const body = { name: first.name, volumeId: other.id };
    await kit.refused('createSnapshot', { snapshotId: first.id, body }, ['ALREADY_EXISTS']);
    requireOne(first, await kit.done('getSnapshot', { snapshotId: first.id }));
  }),
  'FL-5.1-4': must(
    'Creating a snapshot of a missing volume, and reading a missing snapshot, is NOT_FOUND.',
    'snapshots',
  ).check(async kit => {
    const snapshotId = kit.id();
    const body = { name: nameOf(snapshotId), volumeId: kit.id() };
    await kit.refused('createSnapshot', { snapshotId, body }, ['NOT_FOUND']);
    await expectNoSnapshot(kit, snapshotId);
  }),
  'FL-5.1-5': must('Many concurrent equal requests create one snapshot.', 'snapshots').check(async kit => {
    const { id: volumeId } = await makeVolume(kit);
    const id = kit.id();
    const all = await Promise.all(Array.from({ length: crowd }, () => takeSnapshot(kit, volumeId, id)));
    const read = await kit.done('getSnapshot', { snapshotId: id });
    for (const one of all) requireOne(read, one);
    await expectListedOnce(kit, read);
  }),
  'FL-5.2-1': must(
    'Deleting a snapshot answers 204, or 202 until it is done; then the snapshot is NOT_FOUND and not in the list. Deleting a missing snapshot answers 204.',
    'snapshots',
  ).check(async kit => {
    const { id: volumeId } = await makeVolume(kit);
    const { id: snapshotId } = await takeSnapshot(kit, volumeId);
    await kit.done('deleteSnapshot', { snapshotId });
    await expectNoSnapshot(kit, snapshotId);
    for (const id of [snapshotId, kit.id()]) {
      const { status, exchange } = await kit.settle('deleteSnapshot', { snapshotId: id });
      expect(status === 204, '204, even if the snapshot does not exist', exchange);
    }
  }),
  'FL-5.2-2': must(
    'A volume with snapshots is deleted and its snapshots stay usable, or deleting it is FAILED_PRECONDITION and the volume stays.',
    'snapshots',
  ).check(async kit => {
    const volume = await makeVolume(kit);
    const snapshot = await takeSnapshot(kit, volume.id);
    const { code, exchange } = await kit.settle('deleteVolume', { volumeId: volume.id });
    if (code === 'FAILED_PRECONDITION') return expectSame(kit, volume);
    expect(code === undefined, `204 or FAILED_PRECONDITION, not ${code}`, exchange);
    requireOne(snapshot, await kit.done('getSnapshot', { snapshotId: snapshot.id }));
    await expectListedOnce(kit, snapshot);
    if (!kit.has('restore')) return;
    await makeVolume(kit, { source: { kind: 'snapshot', snapshotId: snapshot.id }, requiredBytes: 0 });
  }),
  'FL-5.3-1': must(
    'A volume made from a snapshot names the snapshot as its source, and is at least as large.',
    'restore',
  ).check(async kit => {
    const volume = await makeVolume(kit, { requiredBytes: smallSize(kit, 2) });
    const { id: snapshotId, sizeBytes } = await takeSnapshot(kit, volume.id);
    const source = { kind: 'snapshot', snapshotId } as const;
    for (const requiredBytes of [0, sizeBytes, sizeBytes * 2]) {
      const restored = await makeVolume(kit, { source, requiredBytes });
      const minBytes = Math.max(requiredBytes, sizeBytes);
      expect(restored.sizeBytes >= minBytes, `at least ${minBytes} bytes, not ${restored.sizeBytes}`);
      expect(sameJson(restored.source, source), `"source" names snapshot "${snapshotId}"`);
      await expectSame(kit, restored);
    }
  }),
  'FL-5.3-2': must(
    'A missing source is NOT_FOUND, and a size below the size of the source is OUT_OF_RANGE; neither leaves a volume.',
    'restore',
  ).check(async kit => {
    const missing = { kind: 'snapshot', snapshotId: kit.id() } as const;
    await refuseCopy(kit, { source: missing }, 'NOT_FOUND');
    const volume = await makeVolume(kit, { requiredBytes: smallSize(kit, 2) });
    const { id: snapshotId } = await takeSnapshot(kit, volume.id);
    const limitBytes = smallSize(kit);
    const source = { kind: 'snapshot', snapshotId } as const;
    await refuseCopy(kit, { source, requiredBytes: limitBytes, limitBytes }, 'OUT_OF_RANGE');
  }),
  'FL-5.3-3': must(
    'A volume that was made from a snapshot stays when the snapshot is deleted, or deleting the snapshot is FAILED_PRECONDITION.',
    'restore',
  ).check(async kit => {
    const { id: volumeId } = await makeVolume(kit);
    const snapshot = await takeSnapshot(kit, volumeId);
    const source = { kind: 'snapshot', snapshotId: snapshot.id } as const;
    const restored = await makeVolume(kit, { source, requiredBytes: 0 });
    const { code, exchange } = await kit.settle('deleteSnapshot', { snapshotId: snapshot.id });
    const isKnown = code === undefined || code === 'FAILED_PRECONDITION';
    expect(isKnown, `204 or FAILED_PRECONDITION, not ${code}`, exchange);
    await expectSame(kit, restored);
    if (code) requireOne(snapshot, await kit.done('getSnapshot', { snapshotId: snapshot.id }));
    else await expectNoSnapshot(kit, snapshot.id);
    await kit.done('deleteVolume', { volumeId: restored.id });
    await expectNoVolume(kit, restored.id);
  }),
} satisfies Chapter;

/** Throws a fault unless both answers describe the same snapshot. */
export function requireOne(snapshot: Snapshot, other: Snapshot): void {
  for (const key of ['volumeId', 'sizeBytes', 'createdAt', 'groupId'] as const)
    expect(
      snapshot[key] === other[key],
      `the same snapshot in every answer: "${key}" is ${JSON.stringify(snapshot[key])}, not ${JSON.stringify(other[key])}`,
    );
}

/** Throws a fault if the snapshot can be read or is in the list. */
export async function expectNoSnapshot(kit: Kit, snapshotId: string): Promise<void> {
  await kit.refused('getSnapshot', { snapshotId }, ['NOT_FOUND']);
  const listed = await listAll(kit, 'listSnapshots');
  expect(!listed.some(({ id }) => id === snapshotId), `snapshot "${snapshotId}" is not in the list`);
}

async function expectListedOnce(kit: Kit, { id }: Snapshot): Promise<void> {
  const { length } = (await listAll(kit, 'listSnapshots')).filter(one => one.id === id);
  expect(length === 1, `snapshot "${id}" is in the list once, not ${length} times`);
}
