import { blockBytes, expectFilled, expectZeros, fill } from '../fixtures/bytes.ts';
import { withDisk } from '../fixtures/disk.ts';
import { expect, skip } from '../finding.ts';
import type { Kit } from '../fixtures/kit.ts';
import { readBlocks } from './groups.ts';
import { restart } from './restarts.ts';
import { must, type Chapter, type Check } from '../requirement.ts';

/** The requirements of chapter 9 on single volumes and on blocks. */
export const data = {
  'FL-9.1-1': must(
    'If the capabilities say `zeroed`, a new volume reads as zeros, even where a deleted one was.',
  ).check(async kit => {
    requireZeroed(kit);
    const { id, sizeBytes } = await kit.makeVolume();
    await withDisk(kit, id, async disk => {
      await expectZeros(disk, { from: 0, length: sizeBytes, by: `createVolume of "${id}"` });
      await fill(disk, sizeBytes, 'old');
    });
    await kit.done('deleteVolume', { volumeId: id });
    for (const again of [id, kit.id()]) {
      await kit.makeVolume({}, again);
      const by = `createVolume of "${again}", after deleteVolume of "${id}"`;
      await withDisk(kit, again, disk => expectZeros(disk, { from: 0, length: sizeBytes, by }));
    }
  }),
  'FL-9.1-2': must('Written bytes can be read after detaching and attaching again, on any node.').check(
    checkBytesStay(async () => {}, 'detachVolume and attachVolume'),
  ),
  'FL-9.1-3': must(
    'An expanded volume keeps its bytes, and if the capabilities say `zeroed` the new ones are zeros.',
    'expand',
  ).check(async kit => {
    const { id, sizeBytes } = await kit.makeVolume();
    await withDisk(kit, id, disk => fill(disk, sizeBytes, 'own'));
    const grown = await kit.done('expandVolume', { volumeId: id, body: { requiredBytes: sizeBytes * 2 } });
    await withDisk(kit, id, async disk => {
      const by = `expandVolume of "${id}"`;
      await expectFilled(disk, { sizeBytes, word: 'own', by });
      const length = grown.sizeBytes - sizeBytes;
      if (kit.capabilities.zeroed) await expectZeros(disk, { from: sizeBytes, length, by });
    });
  }),
  'FL-9.1-4': must('Written bytes can be read after a restart.').check(
    checkBytesStay(restart, 'the restart'),
  ),
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
        expect(isThere, `listBlocks of "${snapshotId}" has a block that contains the written byte ${offset}`);
      }
  }),
} satisfies Chapter;

/** Makes a check that bytes can be read back on another node, after `between`, which `name` names. */
function checkBytesStay(between: (kit: Kit) => Promise<void>, name: string): Check {
  return async kit => {
    const { id, sizeBytes } = await kit.makeVolume();
    await withDisk(kit, id, disk => fill(disk, sizeBytes, 'own'));
    await between(kit);
    const by = `${name} of "${id}"`;
    await withDisk(kit, id, disk => expectFilled(disk, { sizeBytes, word: 'own', by }));
  };
}

function requireZeroed({ capabilities: { zeroed } }: Kit): void {
  if (!zeroed) throw skip('the vendor does not promise that new volumes read as zeros ("zeroed")');
}
