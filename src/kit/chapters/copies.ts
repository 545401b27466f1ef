import type { Volume, VolumeSource } from '../../api/volume.ts';
import { expect, skip, unproved } from '../finding.ts';
import { expectFilled, expectZeros, fill } from '../fixtures/bytes.ts';
import { withDisk } from '../fixtures/disk.ts';
import { idsOf, nameOf } from '../fixtures/fixtures.ts';
import type { Kit } from '../fixtures/kit.ts';
import { minRounds, orderFor, requireUntorn, writeDuring } from '../fixtures/torn.ts';
import type { OrderedVolume } from '../fixtures/torn.ts';
import { must, type Chapter } from '../requirement.ts';

/** Copies under writes that are looked at, and the tries to make them. */
const [wantedCopies, maxTries] = [8, 16];

/** The requirements of chapter 9 on copies. */
export const copies = {
  'FL-9.2-1': must(
    'A snapshot has the bytes of one point in time before its answer, and later writes do not change them.',
    'restore',
  ).check(async kit => {
    const { id, sizeBytes } = await kit.makeVolume();
    await withDisk(kit, id, disk => fill(disk, sizeBytes, 'old'));
    const { id: snapshotId } = await kit.takeSnapshot(id);
    await withDisk(kit, id, disk => fill(disk, sizeBytes, 'new'));
    await expectCopy(kit, { kind: 'snapshot', snapshotId }, sizeBytes);
    const by = `createSnapshot of "${snapshotId}", and createVolume from it,`;
    await withDisk(kit, id, disk => expectFilled(disk, { sizeBytes, word: 'new', by }));
  }),
  'FL-9.2-2': must(
    'A clone has the bytes of its source, and later writes to one do not change the other.',
    'clone',
  ).check(async kit => {
    const { id, sizeBytes } = await kit.makeVolume();
    await withDisk(kit, id, disk => fill(disk, sizeBytes, 'old'));
    await expectCopy(kit, { kind: 'volume', volumeId: id }, sizeBytes);
    const by = `createVolume from volume "${id}"`;
    await withDisk(kit, id, disk => expectFilled(disk, { sizeBytes, word: 'old', by }));
  }),
  'FL-9.2-3': must(
    'A snapshot of a volume under writes has the bytes of one point in time, or is FAILED_PRECONDITION.',
    'restore',
  ).check(async kit => {
    const source = await kit.makeVolume({ requiredBytes: kit.smallSize(16) });
    await requireWhole(kit, [source], async () => {
      const snapshotId = kit.id();
      const body = { name: nameOf(snapshotId), volumeId: source.id };
      const { code } = await kit.settle('createSnapshot', { snapshotId, body });
      const restore = async () => {
        await kit.takeSnapshot(source.id, snapshotId).catch(() => {});
        const copy = { kind: 'snapshot', snapshotId } as const;
        return [await kit.makeVolume({ source: copy, requiredBytes: 0 })];
      };
      return { code, restore, by: `createSnapshot of "${snapshotId}"` };
    });
  }),
  'FL-9.2-4': must(
    'All snapshots of a group have the bytes of one point in time, or the group is FAILED_PRECONDITION.',
    'groups',
  ).check(async kit => {
    if (!kit.has('restore')) throw skip('the vendor does not offer "restore"');
    const volumes = [await kit.makeVolume(), await kit.makeVolume()];
    await requireWhole(kit, volumes, async () => {
      const groupId = kit.id();
      const body = { name: nameOf(groupId), volumeIds: idsOf(volumes) };
      const { code } = await kit.settle('createGroup', { groupId, body });
      const restore = async () => {
        const { snapshots } = await kit.makeGroup(volumes, groupId);
        const made = [];
        for (const volume of volumes) {
          const snapshotId = snapshots.find(({ volumeId }) => volumeId === volume.id)?.id ?? '';
          made.push(await kit.makeVolume({ source: { kind: 'snapshot', snapshotId }, requiredBytes: 0 }));
        }
        return made;
      };
      return { code, restore, by: `createGroup of "${groupId}"` };
    });
  }),
  'FL-9.2-5': must(
    'A clone of a volume under writes has the bytes of one point in time, or is FAILED_PRECONDITION.',
    'clone',
  ).check(async kit => {
    const source = await kit.makeVolume({ requiredBytes: kit.smallSize(16) });
    await requireWhole(kit, [source], async () => {
      const volumeId = kit.id();
      const origin = { kind: 'volume', volumeId: source.id } as const;
      const body = kit.specOf(volumeId, { source: origin, requiredBytes: 0 });
      const { code } = await kit.settle('createVolume', { volumeId, body });
      const restore = async () => [await kit.done('getVolume', { volumeId })];
      return { code, restore, by: `createVolume of "${volumeId}" from volume "${source.id}"` };
    });
  }),
  'FL-9.2-6': must('A copy that is larger than its source has zeros behind the bytes of its source.').check(
    async kit => {
      const { id, sizeBytes } = await kit.makeVolume();
      await withDisk(kit, id, disk => fill(disk, sizeBytes, 'old'));
      for (const source of await sourcesOf(kit, id)) {
        const copy = await kit.makeVolume({ source, requiredBytes: sizeBytes * 2 });
        const by = `createVolume of "${copy.id}" from a ${source.kind}`;
        await withDisk(kit, copy.id, async disk => {
          await expectFilled(disk, { sizeBytes, word: 'old', by });
          await expectZeros(disk, { from: sizeBytes, length: copy.sizeBytes - sizeBytes, by });
        });
      }
    },
  ),
  'FL-9.2-7': must(
    'Deleting a volume or a snapshot changes no bytes of its snapshots and of the volumes that were made from it.',
  ).check(async kit => {
    const { id: volumeId, sizeBytes } = await kit.makeVolume();
    await withDisk(kit, volumeId, disk => fill(disk, sizeBytes, 'old'));
    const sources = await sourcesOf(kit, volumeId);
    const made: Volume[] = [];
    for (const source of sources) made.push(await kit.makeVolume({ source, requiredBytes: 0 }));
    const expectCopies = async (by: string): Promise<void> => {
      for (const { id } of made)
        await withDisk(kit, id, disk => expectFilled(disk, { sizeBytes, word: 'old', by }));
    };
    const { code } = await kit.settle('deleteVolume', { volumeId });
    for (const source of sources) {
      if (source.kind !== 'snapshot') continue;
      const { snapshotId } = source;
      made.push(await kit.makeVolume({ source, requiredBytes: 0 }));
      await expectCopies(`deleteVolume of "${volumeId}"`);
      await kit.settle('deleteSnapshot', { snapshotId });
      await expectCopies(`deleteSnapshot of "${snapshotId}"`);
    }
    if (code !== undefined) await kit.settle('deleteVolume', { volumeId });
    await expectCopies(`deleteVolume of "${volumeId}"`);
  }),
} satisfies Chapter;

/** A copy of the volumes under writes: the code of its problem, and the work that makes volumes of it. */
type Copy = {
  readonly code: string | undefined;
  readonly restore: () => Promise<readonly OrderedVolume[]>;
  /** The operation that copied. */
  readonly by: string;
};

/**
 * Copies the volumes under writes, again and again, and throws a fault unless each copy has the bytes of one point in time.
 * Too few copies under writes prove nothing.
 */
async function requireWhole(
  kit: Kit,
  volumes: readonly OrderedVolume[],
  copy: () => Promise<Copy>,
): Promise<void> {
  let overlapped = 0;
  for (let tries = 0; tries < maxTries && overlapped < wantedCopies; tries++) {
    const order = orderFor(kit, volumes.length);
    const { result, roundCount } = await writeDuring(kit, { volumes, order }, copy);
    const { code, restore, by } = result;
    if (code === 'FAILED_PRECONDITION') return;
    expect(code === undefined, `success or FAILED_PRECONDITION, not ${code}`);
    // The places depend on the size of the source; a copy may be larger.
    const made: OrderedVolume[] = [];
    for (const [index, { id }] of (await restore()).entries())
      made.push({ id, sizeBytes: volumes[index]?.sizeBytes ?? 0 });
    await requireUntorn(kit, { volumes: made, order, by });
    if (roundCount >= minRounds) overlapped++;
  }
  if (overlapped < wantedCopies)
    throw unproved(`only ${overlapped} of ${maxTries} copies were made while bytes were written`);
}

/** Lists the sources of copies of the volume: itself, and a snapshot of it. Skips the check without either feature. */
async function sourcesOf(kit: Kit, volumeId: string): Promise<readonly VolumeSource[]> {
  if (!kit.has('clone') && !kit.has('restore')) throw skip('the vendor offers neither "clone" nor "restore"');
  const clone = { kind: 'volume', volumeId } as const;
  if (!kit.has('restore')) return [clone];
  const restored = { kind: 'snapshot', snapshotId: (await kit.takeSnapshot(volumeId)).id } as const;
  return kit.has('clone') ? [clone, restored] : [restored];
}

/** Throws a fault unless a copy has the bytes of its source, and writing to the copy does not change the source. */
async function expectCopy(kit: Kit, source: VolumeSource, sizeBytes: number): Promise<void> {
  const made = source.kind === 'snapshot' ? `createSnapshot of "${source.snapshotId}"` : 'createVolume';
  const { id } = await kit.makeVolume({ source, requiredBytes: 0 });
  await withDisk(kit, id, async disk => {
    await expectFilled(disk, { sizeBytes, word: 'old', by: `${made}, read through "${id}",` });
    await fill(disk, sizeBytes, 'its');
  });
  const again = await kit.makeVolume({ source, requiredBytes: 0 });
  const by = `writing to the copy "${id}", read through "${again.id}",`;
  await withDisk(kit, again.id, disk => expectFilled(disk, { sizeBytes, word: 'old', by }));
}
