import { sameJson } from '../../lib/json.ts';
import { expect } from '../finding.ts';
import { idsOf, nameOf } from '../fixtures/fixtures.ts';
import type { Kit } from '../fixtures/kit.ts';
import { must, type Chapter } from '../requirement.ts';

/** The requirements of chapter 5, sections 4 and 5. */
export const groups = {
  'FL-5.4-1': must(
    'A group has one ready snapshot of each volume, and each snapshot names the group.',
    'groups',
  ).check(async kit => {
    const volumes = [await kit.createVolume(), await kit.createVolume()];
    const group = await kit.createGroup(volumes);
    const found = group.snapshots.map(({ volumeId }) => volumeId);
    const wanted = idsOf(volumes);
    expect(
      sameJson(found, wanted),
      `one snapshot of each volume, in the order of the request: ${wanted.join(', ')}`,
    );
    for (const { id, groupId } of group.snapshots) {
      expect(groupId === group.id, `"groupId" of snapshot "${id}" is "${group.id}", not "${groupId}"`);
      const read = await kit.done('getSnapshot', { snapshotId: id });
      expect(
        read.state === 'ready' && read.groupId === group.id,
        `reading snapshot "${id}" gives state "ready" and the id of its group`,
      );
    }
  }),
  'FL-5.4-2': must(
    'A repeated request answers with the same group; a request with other volumes is ALREADY_EXISTS.',
    'groups',
  ).check(async kit => {
    const volumes = [await kit.createVolume(), await kit.createVolume()];
    const first = await kit.createGroup(volumes);
    const again = await kit.createGroup(volumes, first.id);
    expect(
      sameJson(idsOf(first.snapshots), idsOf(again.snapshots)),
      'the group has the same snapshots in each answer',
    );
    const [kept = '', left = ''] = idsOf(volumes);
    const { id: other } = await kit.createVolume();
    for (const volumeIds of [[other], [kept, left, other], [kept]]) {
      const body = { name: first.name, volumeIds };
      await kit.refused('createGroup', { groupId: first.id, body }, ['ALREADY_EXISTS']);
    }
    const listed = idsOf(await kit.listAll('listSnapshots'));
    const { length } = listed.filter(id => idsOf(first.snapshots).includes(id));
    expect(length === first.snapshots.length, 'the list has each snapshot of the group once');
  }),
  'FL-5.4-3': must('A group with a missing volume is NOT_FOUND, and leaves no snapshot.', 'groups').check(
    async kit => {
      const { id } = await kit.createVolume();
      const before = await kit.listAll('listSnapshots');
      const groupId = kit.id();
      const body = { name: nameOf(groupId), volumeIds: [id, kit.id()] };
      await kit.refused('createGroup', { groupId, body }, ['NOT_FOUND']);
      await kit.refused('getGroup', { groupId }, ['NOT_FOUND']);
      const after = await kit.listAll('listSnapshots');
      expect(after.length === before.length, 'a refused group leaves no snapshot');
    },
  ),
  'FL-5.4-4': must(
    "A group's snapshot cannot be deleted on its own: INVALID_ARGUMENT or FAILED_PRECONDITION.",
    'groups',
  ).check(async kit => {
    const group = await kit.createGroup([await kit.createVolume()]);
    const [member] = group.snapshots;
    const snapshotId = member?.id ?? '';
    await kit.refused('deleteSnapshot', { snapshotId }, ['INVALID_ARGUMENT', 'FAILED_PRECONDITION']);
    await kit.done('getSnapshot', { snapshotId });
  }),
  'FL-5.4-5': must(
    'Deleting a group deletes its snapshots; deleting a missing group answers 204.',
    'groups',
  ).check(async kit => {
    const { id: groupId, snapshots } = await kit.createGroup([
      await kit.createVolume(),
      await kit.createVolume(),
    ]);
    await kit.done('deleteGroup', { groupId });
    await kit.refused('getGroup', { groupId }, ['NOT_FOUND']);
    for (const { id } of snapshots) await kit.expectNoSnapshot(id);
    for (const id of [groupId, kit.id()]) await kit.done('deleteGroup', { groupId: id });
  }),
  'FL-5.5-1': must(
    'Blocks are sorted, do not overlap, lie within the size, and none is missing between pages.',
    'changes',
  ).check(async kit => {
    const { id: volumeId } = await kit.createVolume();
    const { id: base } = await kit.takeSnapshot(volumeId);
    const { id: snapshotId, sizeBytes } = await kit.takeSnapshot(volumeId);
    for (const query of [{}, { base }]) {
      const whole = await readBlocks(kit, { snapshotId, ...query }, sizeBytes);
      const pieces = await readBlocks(kit, { snapshotId, ...query, limit: 1 }, sizeBytes);
      expect(
        bytesOf(whole) === bytesOf(pieces),
        `pages of one block add up to the ${bytesOf(whole)} bytes of larger pages, not to ${bytesOf(pieces)}`,
      );
    }
  }),
  'FL-5.5-2': must(
    'An offset beyond the size is OUT_OF_RANGE, and a base that is a snapshot of another volume is INVALID_ARGUMENT.',
    'changes',
  ).check(async kit => {
    const [one, other] = [await kit.createVolume(), await kit.createVolume()];
    const { id: snapshotId, sizeBytes } = await kit.takeSnapshot(one.id);
    await kit.refused('listBlocks', { snapshotId, offset: sizeBytes + 1 }, ['OUT_OF_RANGE']);
    const { id: base } = await kit.takeSnapshot(other.id);
    await kit.refused('listBlocks', { snapshotId, base }, ['INVALID_ARGUMENT']);
  }),
} satisfies Chapter;

/** A range of bytes of a snapshot. */
export type Block = { readonly offset: number; readonly length: number };

/** Reads the blocks of all pages. Throws a fault if they are out of order, overlap, or exceed the size. */
export async function readBlocks(
  kit: Kit,
  query: { readonly snapshotId: string; readonly base?: string; readonly limit?: number },
  sizeBytes: number,
): Promise<readonly Block[]> {
  const found: Block[] = [];
  for (let offset = 0, end = 0; ;) {
    const page = await kit.done('listBlocks', { ...query, offset });
    expect(page.sizeBytes === sizeBytes, `"sizeBytes" is ${sizeBytes} on each page, not ${page.sizeBytes}`);
    expect(!query.limit || page.blocks.length <= query.limit, `at most ${query.limit} blocks in a page`);
    for (const block of page.blocks) {
      expect(block.offset >= end, `blocks in order: after byte ${end}, not at ${block.offset}`);
      end = block.offset + block.length;
      expect(end <= sizeBytes, `blocks within the ${sizeBytes} bytes, not up to ${end}`);
      found.push(block);
    }
    const { nextOffset } = page;
    if (nextOffset === undefined) return found;
    expect(nextOffset > offset && nextOffset >= end, `"nextOffset" is beyond byte ${end}, not ${nextOffset}`);
    offset = nextOffset;
  }
}

function bytesOf(blocks: readonly Block[]): number {
  return blocks.reduce((sum, { length }) => sum + length, 0);
}
