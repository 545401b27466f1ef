import { sameJson } from '../../lib/json.ts';
import { expect, skip } from '../finding.ts';
import { entriesOf, idsOf, type List } from '../fixtures/fixtures.ts';
import type { Kit } from '../fixtures/kit.ts';
import { modifications } from '../fixtures/mutations.ts';
import { similarIds } from '../fixtures/similar.ts';
import { must, type Chapter } from '../requirement.ts';

/** The requirements of chapter 6. */
export const lists = {
  'FL-6.1-1': must('A list has every resource once, sorted by the bytes of the ids.').check(async kit => {
    const base = kit.id();
    // Different lengths and both cases: locale-aware, numeric and case-insensitive orders all differ from this one.
    const ids = ['-10', '-9', '-B', '-a', '.x', '_x'].map(end => base + end);
    for (const id of ids.toReversed()) await kit.createVolume({}, id);
    const listed = idsOf(await kit.listAll('listVolumes'));
    const sorted = listed.toSorted((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other)));
    expect(sameJson(listed, sorted), 'the ids are in the order of their bytes');
    for (const id of ids) requireOnce(listed, id);
  }),
  'FL-6.1-2': must(
    "A page has at most `limit` entries; 0 or no limit means the server's own page size.",
  ).check(async kit => {
    await createSome(kit, 5);
    for (const limit of [1, 2, 3]) {
      const { length } = entriesOf(await kit.done('listVolumes', { limit }));
      expect(length > 0 && length <= limit, `1 to ${limit} volumes in the page, not ${length}`);
    }
    const all = entriesOf(await kit.done('listVolumes', { limit: 0 }));
    const unlimited = entriesOf(await kit.done('listVolumes', {}));
    expect(all.length >= 5 && sameJson(idsOf(all), idsOf(unlimited)), 'a limit of 0 means no limit');
  }),
  'FL-6.1-3': must(
    'Pages of any size together make up the whole list, and the last page has no `nextPageToken`.',
  ).check(async kit => {
    const ids = await createSome(kit, 7);
    const whole = idsOf(await kit.listAll('listVolumes'));
    for (const id of ids) requireOnce(whole, id);
    for (const limit of kit.isThorough ? [1, 2, 3, 4, 5, 6, 7, 8, 9] : [1, 2, 3, 7, 8]) {
      const pages = idsOf(await kit.listAll('listVolumes', { limit }));
      expect(sameJson(pages, whole), `pages of ${limit} have the volumes of the whole list, each once`);
    }
    if (!kit.has('snapshots')) return;
    for (const id of ids.slice(0, 3)) await kit.takeSnapshot(id);
    const snapshots = idsOf(await kit.listAll('listSnapshots'));
    for (const limit of [1, 2]) {
      const pages = idsOf(await kit.listAll('listSnapshots', { limit }));
      expect(sameJson(pages, snapshots), `pages of ${limit} have the snapshots of the whole list, each once`);
    }
  }),
  'FL-6.1-4': must('A page token that the server did not issue for the list is ABORTED.').check(async kit => {
    await createSome(kit, 2);
    const { nextPageToken = '' } = await kit.done('listVolumes', { limit: 1 });
    for (const pageToken of ['no-such-token', '!', `x${nextPageToken}`]) {
      await kit.refused('listVolumes', { pageToken }, ['ABORTED']);
      if (kit.has('snapshots')) await kit.refused('listSnapshots', { pageToken }, ['ABORTED']);
    }
  }),
  'FL-6.1-5': must('A limit that is negative or not a whole number is INVALID_ARGUMENT.').check(async kit => {
    for (const limit of [-1, 1.5, Number.NaN])
      await kit.refused('listVolumes', { limit }, ['INVALID_ARGUMENT']);
  }),
  'FL-6.1-6': must(
    'With `volumeId` the list has only the snapshots of that volume, and is empty for a volume that does not exist.',
    'snapshots',
  ).check(async kit => {
    const [id, others] = similarIds(kit);
    const one = await kit.createVolume({}, id);
    const ids = [(await kit.takeSnapshot(one.id)).id, (await kit.takeSnapshot(one.id)).id].toSorted();
    for (const other of others) await kit.takeSnapshot((await kit.createVolume({}, other)).id);
    for (const limit of [0, 1]) {
      const listed = idsOf(await kit.listAll('listSnapshots', { volumeId: one.id, limit }));
      expect(
        sameJson(listed.toSorted(), ids),
        `the ${ids.length} snapshots of volume "${one.id}", and no others`,
      );
    }
    const none = await kit.listAll('listSnapshots', { volumeId: kit.id() });
    expect(none.length === 0, 'no snapshots of a volume that does not exist');
  }),
  'FL-6.1-7': must('An entry of a list is the same as the answer to reading its resource.').check(
    async kit => {
      const { id: volumeId } = await kit.createVolume();
      for (const input of modifications(kit, volumeId)) await kit.done('modifyVolume', input);
      if (kit.has('expand'))
        await kit.done('expandVolume', { volumeId, body: { requiredBytes: kit.smallSize(2) } });
      const nodeId = await kit.createNode();
      const requireListed = async (): Promise<void> => {
        const entry = (await kit.listAll('listVolumes')).find(({ id }) => id === volumeId);
        const read = await kit.done('getVolume', { volumeId });
        expect(
          sameJson(entry, read),
          `the list has volume "${volumeId}" as it reads: ${JSON.stringify(read)}`,
        );
      };
      await kit.attach(volumeId, nodeId);
      await requireListed();
      await kit.done('detachVolume', { volumeId, nodeId });
      await requireListed();
      if (!kit.has('snapshots')) return;
      const read = await kit.takeSnapshot(volumeId);
      const entry = (await kit.listAll('listSnapshots')).find(({ id }) => id === read.id);
      expect(
        sameJson(entry, read),
        `the list has snapshot "${read.id}" as it reads: ${JSON.stringify(read)}`,
      );
    },
  ),
  'FL-6.2-1': must(
    'A resource that exists while all pages are read is in them once, even if others are created and deleted meanwhile.',
  ).check(async kit => {
    if (kit.hasForeign) throw skip('other users of the server may change the list');
    const { id: volumeId } = await kit.createVolume();
    for (const limit of [1, 2, 3]) {
      await readDuringChanges(kit, limit, {
        list: 'listVolumes',
        create: id => kit.createVolume({}, id),
        remove: id => kit.done('deleteVolume', { volumeId: id }),
      });
      if (!kit.has('snapshots')) continue;
      await readDuringChanges(kit, limit, {
        list: 'listSnapshots',
        create: id => kit.takeSnapshot(volumeId, id),
        remove: id => kit.done('deleteSnapshot', { snapshotId: id }),
      });
    }
  }),
} satisfies Chapter;

/** A list, and the calls that change it. */
type ChangingList = {
  readonly list: List;
  readonly create: (id: string) => Promise<unknown>;
  readonly remove: (id: string) => Promise<unknown>;
};

/**
 * Reads a list of which every second entry goes, as the last one of a page or as the next one after it. New entries come on
 * both sides of a page's end. Throws a fault unless each other entry is in the pages once.
 */
async function readDuringChanges(
  kit: Kit,
  limit: number,
  { list, create, remove }: ChangingList,
): Promise<void> {
  const base = kit.id();
  const ids = Array.from({ length: 6 }, (_, index) => `${base}-${index}`);
  for (const id of ids) await create(id);
  const isStaying = (id: string): boolean => ids.indexOf(id) % 2 === 0;
  const between = async (last = ''): Promise<void> => {
    const at = ids.indexOf(last);
    const [own = '', next = ''] = ids.slice(at, at + 2);
    if (at < 0) return;
    // With pages of one entry each kind of deletion happens for sure.
    if (at % 4 === 1) await remove(own);
    if (at % 4 === 2) await remove(next);
    await create(`${ids[at - 1] ?? base}.new`);
    await create(`${own}.new`);
  };
  const listed = idsOf(await kit.listAll(list, { limit, between }));
  for (const id of ids.filter(isStaying)) requireOnce(listed, id);
}

/** Creates volumes whose ids are spread over the list, and returns the ids. */
async function createSome(kit: Kit, count: number): Promise<readonly string[]> {
  const volumes = [];
  for (let made = 0; made < count; made++)
    volumes.push(
      await kit.createVolume(
        {},
        `${kit.prefix}${kit.random.below(1_000_000)}${kit.id().slice(kit.prefix.length)}`,
      ),
    );
  return idsOf(volumes);
}

function requireOnce(listed: readonly string[], id: string): void {
  const { length } = listed.filter(one => one === id);
  expect(length === 1, `"${id}" is in the list once, not ${length} times`);
}
