import type { VolumeSource } from '../../api/volume.ts';
import { withDisk, type Disk } from '../fixtures/disk.ts';
import { expect, skip } from '../finding.ts';
import { idsOf } from '../fixtures/fixtures.ts';
import type { Kit } from '../fixtures/kit.ts';
import { requireUntorn, writeDuring } from '../fixtures/torn.ts';
import { readBlocks } from './groups.ts';
import { restart } from './restarts.ts';
import { must, type Chapter, type Check } from '../requirement.ts';

const blockBytes = 4_096;
const pieces = 16;

/** The requirements of chapter 9. */
export const data = {
  'FL-9.1-1': must(
    'If the capabilities say `zeroed`, a new volume reads as zeros, even where a deleted one was.',
  ).check(async kit => {
    requireZeroed(kit);
    const { id, sizeBytes } = await kit.makeVolume();
    await withDisk(kit, id, async disk => {
      await expectZeros(disk, 0, sizeBytes);
      await fill(disk, sizeBytes, 'old');
    });
    await kit.done('deleteVolume', { volumeId: id });
    for (const again of [id, kit.id()]) {
      await kit.makeVolume({}, again);
      await withDisk(kit, again, disk => expectZeros(disk, 0, sizeBytes));
    }
  }),
  'FL-9.1-2': must('Written bytes can be read after detaching and attaching again, on any node.').check(
    checkBytesStay(async () => {}),
  ),
  'FL-9.1-3': must(
    'An expanded volume keeps its bytes, and if the capabilities say `zeroed` the new ones are zeros.',
    'expand',
  ).check(async kit => {
    const { id, sizeBytes } = await kit.makeVolume();
    await withDisk(kit, id, disk => fill(disk, sizeBytes, 'own'));
    const grown = await kit.done('expandVolume', { volumeId: id, body: { requiredBytes: sizeBytes * 2 } });
    await withDisk(kit, id, async disk => {
      await expectFilled(disk, sizeBytes, 'own');
      if (kit.capabilities.zeroed) await expectZeros(disk, sizeBytes, grown.sizeBytes - sizeBytes);
    });
  }),
  'FL-9.1-4': must('Written bytes can be read after a restart.').check(checkBytesStay(restart)),
  'FL-9.2-1': must(
    'A snapshot has the bytes of one point in time before its answer, and later writes do not change them.',
    'restore',
  ).check(async kit => {
    const { id, sizeBytes } = await kit.makeVolume();
    await withDisk(kit, id, disk => fill(disk, sizeBytes, 'old'));
    const { id: snapshotId } = await kit.takeSnapshot(id);
    await withDisk(kit, id, disk => fill(disk, sizeBytes, 'new'));
    await expectCopy(kit, { kind: 'snapshot', snapshotId }, sizeBytes);
    await withDisk(kit, id, disk => expectFilled(disk, sizeBytes, 'new'));
  }),
  'FL-9.2-2': must(
    'A clone has the bytes of its source, and later writes to one do not change the other.',
    'clone',
  ).check(async kit => {
    const { id, sizeBytes } = await kit.makeVolume();
    await withDisk(kit, id, disk => fill(disk, sizeBytes, 'old'));
    await expectCopy(kit, { kind: 'volume', volumeId: id }, sizeBytes);
    await withDisk(kit, id, disk => expectFilled(disk, sizeBytes, 'old'));
  }),
  'FL-9.2-3': must(
    'A snapshot of a volume under writes has the bytes of one point in time, or is FAILED_PRECONDITION.',
    'restore',
  ).check(async kit => {
    const { id, sizeBytes } = await kit.makeVolume({ requiredBytes: kit.smallSize(16) });
    const snapshotId = kit.id();
    const body = { name: snapshotId, volumeId: id };
    const { code } = await writeDuring(kit, [{ id, sizeBytes }], () =>
      kit.settle('createSnapshot', { snapshotId, body }),
    );
    if (code === 'FAILED_PRECONDITION') return;
    expect(code === undefined, `success or FAILED_PRECONDITION, not ${code}`);
    await kit.takeSnapshot(id, snapshotId).catch(() => {});
    const restored = await kit.makeVolume({ source: { kind: 'snapshot', snapshotId }, requiredBytes: 0 });
    await requireUntorn(kit, [{ ...restored, sizeBytes }]);
  }),
  'FL-9.2-4': must(
    'All snapshots of a group have the bytes of one point in time, or the group is FAILED_PRECONDITION.',
    'groups',
  ).check(async kit => {
    if (!kit.has('restore')) throw skip('the vendor does not offer "restore"');
    const volumes = [await kit.makeVolume(), await kit.makeVolume()];
    const groupId = kit.id();
    const body = { name: groupId, volumeIds: idsOf(volumes) };
    const { code } = await writeDuring(kit, volumes, () => kit.settle('createGroup', { groupId, body }));
    if (code === 'FAILED_PRECONDITION') return;
    expect(code === undefined, `success or FAILED_PRECONDITION, not ${code}`);
    const { snapshots } = await kit.makeGroup(volumes, groupId);
    const copies = [];
    for (const { id: snapshotId } of snapshots)
      copies.push(await kit.makeVolume({ source: { kind: 'snapshot', snapshotId }, requiredBytes: 0 }));
    await requireUntorn(kit, copies);
  }),
  'FL-9.3-1': must(
    'The lists of allocated blocks, and of blocks that differ from a base, contain every written byte.',
    'changes',
  ).check(async kit => {
    const { id, sizeBytes } = await kit.makeVolume();
    const at = [0, Math.floor(sizeBytes / 2 / blockBytes) * blockBytes, sizeBytes - blockBytes];
    await withDisk(kit, id, disk => disk.write(at[0] ?? 0, Buffer.from('first')));
    const { id: base } = await kit.takeSnapshot(id);
    await withDisk(kit, id, async disk => {
      for (const offset of at.slice(1)) await disk.write(offset, Buffer.from('later'));
    });
    const { id: snapshotId } = await kit.takeSnapshot(id);
    const allocated = await readBlocks(kit, { snapshotId }, sizeBytes);
    const changed = await readBlocks(kit, { snapshotId, base }, sizeBytes);
    for (const [blocks, offsets] of [
      [allocated, at],
      [changed, at.slice(1)],
    ] as const)
      for (const offset of offsets) {
        const isThere = blocks.some(block => block.offset <= offset && offset < block.offset + block.length);
        expect(isThere, `a block that contains the written byte ${offset}`);
      }
  }),
} satisfies Chapter;

/** Makes a check that bytes can be read back on another node, after `between`. */
function checkBytesStay(between: (kit: Kit) => Promise<void>): Check {
  return async kit => {
    const { id, sizeBytes } = await kit.makeVolume();
    await withDisk(kit, id, disk => fill(disk, sizeBytes, 'own'));
    await between(kit);
    await withDisk(kit, id, disk => expectFilled(disk, sizeBytes, 'own'));
  };
}

/** Throws a fault unless a copy has the bytes of its source, and writing to the copy does not change the source. */
async function expectCopy(kit: Kit, source: VolumeSource, sizeBytes: number): Promise<void> {
  const { id } = await kit.makeVolume({ source, requiredBytes: 0 });
  await withDisk(kit, id, async disk => {
    await expectFilled(disk, sizeBytes, 'old');
    await fill(disk, sizeBytes, 'its');
  });
  const again = await kit.makeVolume({ source, requiredBytes: 0 });
  await withDisk(kit, again.id, disk => expectFilled(disk, sizeBytes, 'old'));
}

function requireZeroed({ capabilities: { zeroed } }: Kit): void {
  if (!zeroed) throw skip('the vendor does not promise that new volumes read as zeros ("zeroed")');
}

/** Returns the offsets to write: evenly over the volume, its first and last block included. */
function placesOf(sizeBytes: number): readonly number[] {
  const step = Math.floor((sizeBytes - blockBytes) / (pieces - 1));
  return Array.from({ length: pieces }, (_, index) => index * step);
}

async function fill(disk: Disk, sizeBytes: number, word: string): Promise<void> {
  for (const offset of placesOf(sizeBytes)) await disk.write(offset, Buffer.from(`${word} ${offset}`));
  await disk.flush();
}

async function expectFilled(disk: Disk, sizeBytes: number, word: string): Promise<void> {
  for (const offset of placesOf(sizeBytes)) {
    const wanted = `${word} ${offset}`;
    const found = await disk.read(offset, wanted.length);
    expect(
      found.equals(Buffer.from(wanted)),
      `"${wanted}" at byte ${offset}, not ${JSON.stringify(found.toString())}`,
    );
  }
}

async function expectZeros(disk: Disk, from: number, length: number): Promise<void> {
  const stride = 2 ** 20;
  for (let offset = from; offset < from + length; offset += stride) {
    const bytes = await disk.read(offset, Math.min(stride, from + length - offset));
    const at = bytes.findIndex(byte => byte !== 0);
    expect(at < 0, `zeros, not ${bytes[at]} at byte ${offset + at}`);
  }
}
