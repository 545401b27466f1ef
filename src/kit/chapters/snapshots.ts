import { expect, skip } from '../finding.ts';
import { expectOne, nameOf, snapshotInput } from '../fixtures/fixtures.ts';
import { checkCopies, deleteSource, refuseCopies } from './changes.ts';
import { must, type Chapter } from '../requirement.ts';

const crowd = 6;

/** The requirements of chapter 5, sections 1 to 3. */
export const snapshots = {
  'FL-5.1-1': must(
    "Creating a snapshot answers with its name, its volume and the volume's size, and the snapshot becomes `ready`.",
    'snapshots',
  ).check(async kit => {
    const { id: volumeId, sizeBytes } = await kit.createVolume();
    const snapshot = await kit.takeSnapshot(volumeId);
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
    const { id: volumeId } = await kit.createVolume();
    const first = await kit.takeSnapshot(volumeId);
    const body = { name: first.name, volumeId };
    for (let again = 0; again < 3; again++)
      expectOne('snapshot', first, await kit.done('createSnapshot', { snapshotId: first.id, body }));
    await kit.expectListedOnce('listSnapshots', first);
  }),
  'FL-5.1-3': must(
    'A request for the same id with another volume is ALREADY_EXISTS, and the snapshot does not change.',
    'snapshots',
  ).check(async kit => {
    const [one, other] = [await kit.createVolume(), await kit.createVolume()];
    const first = await kit.takeSnapshot(one.id);
    const body = { name: first.name, volumeId: other.id };
    await kit.refused('createSnapshot', { snapshotId: first.id, body }, ['ALREADY_EXISTS']);
    expectOne('snapshot', first, await kit.done('getSnapshot', { snapshotId: first.id }));
  }),
  'FL-5.1-4': must(
    'Creating a snapshot of a missing volume, and reading a missing snapshot, is NOT_FOUND.',
    'snapshots',
  ).check(async kit => {
    const snapshotId = kit.id();
    await kit.refused('createSnapshot', snapshotInput(snapshotId, kit.id()), ['NOT_FOUND']);
    await kit.expectNoSnapshot(snapshotId);
  }),
  'FL-5.1-5': must('Many concurrent equal requests create one snapshot.', 'snapshots').check(async kit => {
    const { id: volumeId } = await kit.createVolume();
    const id = kit.id();
    const all = await Promise.all(Array.from({ length: crowd }, () => kit.takeSnapshot(volumeId, id)));
    const read = await kit.done('getSnapshot', { snapshotId: id });
    for (const one of all) expectOne('snapshot', read, one);
    await kit.expectListedOnce('listSnapshots', read);
  }),
  'FL-5.1-6': must(
    'A snapshot keeps its size and its time when its volume is expanded, and a copy of it may be as small as it.',
    'snapshots',
  ).check(async kit => {
    if (!kit.has('expand')) throw skip('the vendor does not offer "expand"');
    const { id: volumeId } = await kit.createVolume();
    const snapshot = await kit.takeSnapshot(volumeId);
    await kit.done('expandVolume', { volumeId, body: { requiredBytes: kit.smallSize(3) } });
    expectOne('snapshot', snapshot, await kit.done('getSnapshot', { snapshotId: snapshot.id }));
    const body = { name: snapshot.name, volumeId };
    expectOne('snapshot', snapshot, await kit.done('createSnapshot', { snapshotId: snapshot.id, body }));
    if (!kit.has('restore')) return;
    const source = { kind: 'snapshot', snapshotId: snapshot.id } as const;
    const limitBytes = snapshot.sizeBytes;
    await kit.createVolume({ source, requiredBytes: limitBytes, limitBytes });
  }),
  'FL-5.2-1': must(
    'Deleting a snapshot answers 204, or 202 until it is done; then the snapshot is NOT_FOUND and not in the list. Deleting a missing snapshot answers 204.',
    'snapshots',
  ).check(async kit => {
    const { id: snapshotId } = await kit.takeSnapshot((await kit.createVolume()).id);
    await kit.done('deleteSnapshot', { snapshotId });
    await kit.expectNoSnapshot(snapshotId);
    for (const id of [snapshotId, kit.id()]) await kit.done('deleteSnapshot', { snapshotId: id });
  }),
  'FL-5.2-2': must(
    'A volume with snapshots is deleted and its snapshots stay usable, or deleting it is FAILED_PRECONDITION and the volume stays.',
    'snapshots',
  ).check(async kit => {
    const volume = await kit.createVolume();
    const snapshot = await kit.takeSnapshot(volume.id);
    const { code, exchange } = await kit.settle('deleteVolume', { volumeId: volume.id });
    if (code === 'FAILED_PRECONDITION') return kit.expectSame(volume);
    expect(code === undefined, `204 or FAILED_PRECONDITION, not ${code}`, exchange);
    expectOne('snapshot', snapshot, await kit.done('getSnapshot', { snapshotId: snapshot.id }));
    await kit.expectListedOnce('listSnapshots', snapshot);
    if (!kit.has('restore')) return;
    await kit.createVolume({ source: { kind: 'snapshot', snapshotId: snapshot.id }, requiredBytes: 0 });
  }),
  'FL-5.3-1': must(
    'A volume made from a snapshot names the snapshot as its source, and is at least as large.',
    'restore',
  ).check(async kit => {
    const volume = await kit.createVolume({ requiredBytes: kit.smallSize(2) });
    const { id: snapshotId, sizeBytes } = await kit.takeSnapshot(volume.id);
    await checkCopies(kit, { kind: 'snapshot', snapshotId }, sizeBytes);
  }),
  'FL-5.3-2': must(
    'A missing source is NOT_FOUND, and a size below the size of the source is OUT_OF_RANGE; neither leaves a volume.',
    'restore',
  ).check(async kit => {
    const volume = await kit.createVolume({ requiredBytes: kit.smallSize(2) });
    const { id: snapshotId } = await kit.takeSnapshot(volume.id);
    await refuseCopies(kit, { kind: 'snapshot', snapshotId: kit.id() }, { kind: 'snapshot', snapshotId });
  }),
  'FL-5.3-3': must(
    'A volume that was made from a snapshot stays when the snapshot is deleted and the request is repeated, or deleting the snapshot is FAILED_PRECONDITION.',
    'restore',
  ).check(async kit => {
    const snapshot = await kit.takeSnapshot((await kit.createVolume()).id);
    const source = { kind: 'snapshot', snapshotId: snapshot.id } as const;
    const restored = await kit.createVolume({ source, requiredBytes: 0 });
    const { code } = await deleteSource(kit, source, restored);
    if (code) expectOne('snapshot', snapshot, await kit.done('getSnapshot', { snapshotId: snapshot.id }));
    else await kit.expectNoSnapshot(snapshot.id);
    await kit.done('deleteVolume', { volumeId: restored.id });
    await kit.expectNoVolume(restored.id);
  }),
} satisfies Chapter;
