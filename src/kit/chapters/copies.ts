import { expectCopy, expectFilled, expectZeros, fill, leaveBytes } from '../fixtures/bytes.ts';
import { causeOf, type Cause } from '../fixtures/cause.ts';
import { withDisk } from '../fixtures/disk.ts';
import type { Kit } from '../fixtures/kit.ts';
import { requireSources } from '../fixtures/sources.ts';
import { must, type Chapter } from '../requirement.ts';

/** A volume with the words of `fill`, or a copy that has them. */
type Filled = { readonly id: string; readonly sizeBytes: number; readonly word: string };

/** The requirements of chapter 9 on the bytes of copies. */
export const copies = {
  'FL-9.2-1': must(
    'A snapshot has the bytes of one point in time before its first answer, and neither later writes nor repeated requests change them.',
    'restore',
  ).check(async kit => {
    const { id, sizeBytes } = await kit.createVolume();
    const taken: (readonly [Filled, Cause])[] = [];
    // A second snapshot shows whether the first one is still the first one.
    for (const word of ['old', 'new']) {
      await write(kit, { id, sizeBytes, word });
      const { id: snapshotId } = await kit.takeSnapshot(id);
      taken.push([{ id: snapshotId, sizeBytes, word }, causeOf(kit, 'createSnapshot', { snapshotId })]);
    }
    await write(kit, { id, sizeBytes, word: 'now' });
    for (const [snapshot, taking] of taken) {
      await kit.takeSnapshot(id, snapshot.id);
      const source = { kind: 'snapshot', snapshotId: snapshot.id } as const;
      const { id: copy } = await kit.createVolume({ source, requiredBytes: 0 });
      await expectBytes(kit, { ...snapshot, id: copy }, taking);
      await write(kit, { id: copy, sizeBytes, word: 'its' });
      await expectCopy(kit, source, { ...snapshot, cause: writingTo(copy) });
      await expectBytes(kit, { id, sizeBytes, word: 'now' }, writingTo(copy));
      const { id: snapshotId } = await kit.takeSnapshot(copy);
      const cause = causeOf(kit, 'createSnapshot', { snapshotId });
      await expectCopy(kit, { kind: 'snapshot', snapshotId }, { sizeBytes, word: 'its', cause });
    }
  }),
  'FL-9.2-2': must(
    'A clone has the bytes of its source, and later writes to one do not change the other.',
    'clone',
  ).check(async kit => {
    const { id, sizeBytes } = await kit.createVolume();
    await write(kit, { id, sizeBytes, word: 'was' });
    // A clone has the bytes of the volume, and not those of its last snapshot.
    if (kit.has('snapshots')) await kit.takeSnapshot(id);
    await write(kit, { id, sizeBytes, word: 'old' });
    const source = { kind: 'volume', volumeId: id } as const;
    const { id: volumeId } = await kit.createVolume({ source, requiredBytes: 0 });
    const cloned = causeOf(kit, 'createVolume', { volumeId });
    await write(kit, { id, sizeBytes, word: 'new' });
    await expectBytes(kit, { id: volumeId, sizeBytes, word: 'old' }, cloned);
    await write(kit, { id: volumeId, sizeBytes, word: 'its' });
    await expectBytes(kit, { id, sizeBytes, word: 'new' }, writingTo(volumeId));
    for (const [origin, word] of [[id, 'new'] as const, [volumeId, 'its'] as const]) {
      const next = { kind: 'volume', volumeId: origin } as const;
      const copy = await kit.createVolume({ source: next, requiredBytes: 0 });
      const cause = causeOf(kit, 'createVolume', { volumeId: copy.id });
      await expectBytes(kit, { id: copy.id, sizeBytes, word }, cause);
    }
  }),
  'FL-9.2-6': must('A copy that is larger than its source has zeros behind the bytes of its source.').check(
    async kit => {
      const { id, sizeBytes } = await kit.createVolume();
      await write(kit, { id, sizeBytes, word: 'old' });
      await leaveBytes(kit, sizeBytes * 2);
      for (const source of await requireSources(kit, id)) {
        const copy = await kit.createVolume({ source, requiredBytes: sizeBytes * 2 });
        const cause = causeOf(kit, 'createVolume', { volumeId: copy.id });
        await withDisk(kit, copy.id, async disk => {
          await expectFilled(disk, { sizeBytes, word: 'old', cause });
          await expectZeros(disk, { from: sizeBytes, length: copy.sizeBytes - sizeBytes, cause });
        });
      }
    },
  ),
  'FL-9.2-7': must(
    'Deleting a volume or a snapshot changes no bytes of its source, of its snapshots, and of the volumes that were made from it.',
  ).check(async kit => {
    const { id: volumeId, sizeBytes } = await kit.createVolume();
    const [volumes, snapshots] = [new Map<string, string>(), new Map<string, string>()];
    const extra: string[] = [];
    for (const word of ['old', 'new']) {
      await write(kit, { id: volumeId, sizeBytes, word });
      for (const source of await requireSources(kit, volumeId)) {
        const { id: copy } = await kit.createVolume({ source, requiredBytes: 0 });
        extra.push(copy);
        volumes.set((await kit.createVolume({ source, requiredBytes: 0 })).id, word);
        if (source.kind === 'snapshot') snapshots.set(source.snapshotId, word);
        else {
          const second = await kit.createVolume({
            source: { kind: 'volume', volumeId: copy },
            requiredBytes: 0,
          });
          volumes.set(second.id, word);
        }
      }
    }
    const remove = async (operation: 'deleteVolume' | 'deleteSnapshot', id: string): Promise<boolean> => {
      const input = { volumeId: id, snapshotId: id };
      for (const left of operation === 'deleteVolume' ? [volumes] : [snapshots]) left.delete(id);
      const { code } = await kit.settle(operation, input);
      const cause = causeOf(kit, operation, input);
      for (const [left, word] of volumes) await expectBytes(kit, { id: left, sizeBytes, word }, cause);
      for (const [snapshotId, word] of snapshots)
        await expectCopy(kit, { kind: 'snapshot', snapshotId }, { sizeBytes, word, cause });
      return code === undefined;
    };
    // The volume has later bytes than its snapshots.
    await write(kit, { id: volumeId, sizeBytes, word: 'now' });
    volumes.set(volumeId, 'now');
    for (const id of extra) await remove('deleteVolume', id);
    for (const id of snapshots.keys()) await remove('deleteSnapshot', id);
    if (kit.has('restore')) snapshots.set((await kit.takeSnapshot(volumeId)).id, 'now');
    const last = [...snapshots.keys()];
    const isDeleted = await remove('deleteVolume', volumeId);
    for (const id of last) await remove('deleteSnapshot', id);
    if (!isDeleted) await remove('deleteVolume', volumeId);
  }),
  'FL-9.2-8': must(
    'A volume or a snapshot with the id of a deleted one has the bytes of its own source, and the copies of the deleted one keep theirs.',
  ).check(async kit => {
    const { id, sizeBytes } = await kit.createVolume();
    const { id: twin } = await kit.createVolume();
    const [copy, snapshotId] = [kit.id(), kit.id()];
    await write(kit, { id, sizeBytes, word: 'old' });
    await write(kit, { id: twin, sizeBytes, word: 'new' });
    const kinds = await requireSources(kit, id);
    for (const { kind } of kinds)
      for (const [volumeId, word] of [[id, 'old'] as const, [twin, 'new'] as const]) {
        if (kind === 'snapshot') await kit.takeSnapshot(volumeId, snapshotId);
        const source = kind === 'snapshot' ? ({ kind, snapshotId } as const) : ({ kind, volumeId } as const);
        await kit.createVolume({ source, requiredBytes: 0 }, copy);
        const made = kind === 'snapshot' ? 'createSnapshot' : 'createVolume';
        const cause = causeOf(kit, made, kind === 'snapshot' ? { snapshotId } : { volumeId: copy });
        await expectBytes(kit, { id: copy, sizeBytes, word }, cause);
        await kit.done('deleteVolume', { volumeId: copy });
        if (kind === 'snapshot') await kit.done('deleteSnapshot', { snapshotId });
      }
    // The copies outlive their source, and the next volume with its id.
    const made = await Promise.all(
      kinds.map(async source => (await kit.createVolume({ source, requiredBytes: 0 })).id),
    );
    const { code } = await kit.settle('deleteVolume', { volumeId: id });
    if (code !== undefined) return;
    await kit.createVolume({}, id);
    await write(kit, { id, sizeBytes, word: 'its' });
    const cause = { by: `creating volume "${id}" again and writing to it`, exchange: null };
    for (const one of made) await expectBytes(kit, { id: one, sizeBytes, word: 'old' }, cause);
    for (const source of kinds)
      if (source.kind === 'snapshot') await expectCopy(kit, source, { sizeBytes, word: 'old', cause });
  }),
  'FL-9.2-9': must('Copies that are made at the same time have the bytes of their own sources.').check(
    async kit => {
      const volumes: Filled[] = [];
      for (const word of ['one', 'two', 'three']) {
        const { id, sizeBytes } = await kit.createVolume();
        await write(kit, { id, sizeBytes, word });
        volumes.push({ id, sizeBytes, word });
      }
      const sources = await Promise.all(volumes.map(({ id }) => requireSources(kit, id)));
      const making = volumes.flatMap(({ sizeBytes, word }, index) =>
        (sources[index] ?? []).map(async source => {
          const { id } = await kit.createVolume({ source, requiredBytes: 0 });
          return { id, sizeBytes, word };
        }),
      );
      const cause = { by: 'making several copies at the same time', exchange: null };
      for (const copy of await Promise.all(making)) await expectBytes(kit, copy, cause);
    },
  ),
} satisfies Chapter;

async function write(kit: Kit, { id, sizeBytes, word }: Filled): Promise<void> {
  await withDisk(kit, id, disk => fill(disk, sizeBytes, word));
}

/** Makes the cause that writing to the volume has changed another one. */
function writingTo(id: string): Cause {
  return { by: `writing to "${id}"`, exchange: null };
}

async function expectBytes(kit: Kit, { id, sizeBytes, word }: Filled, cause: Cause): Promise<void> {
  const through = { by: `${cause.by}, read through "${id}",`, exchange: cause.exchange };
  await withDisk(kit, id, disk => expectFilled(disk, { sizeBytes, word, cause: through }));
}
