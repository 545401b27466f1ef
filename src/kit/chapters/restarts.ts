import { poll } from '../../lib/concurrency.ts';
import { sameJson } from '../../lib/json.ts';
import { expect, fault, skip } from '../finding.ts';
import {
  attach,
  expectSame,
  listAll,
  makeGroup,
  makeNode,
  makeVolume,
  smallSize,
  takeSnapshot,
} from '../fixtures/fixtures.ts';
import type { Kit } from '../fixtures/kit.ts';
import { mutations, offeredMutations, repeat } from '../fixtures/mutations.ts';
import { requireOne } from './snapshots.ts';
import { must, type Chapter } from '../requirement.ts';

/** The requirements of chapter 8, section 3. */
export const restarts = {
  'FL-8.3-1': must('Finished work is still there after a restart, exactly as it was answered.').check(
    async kit => {
      requireRestart(kit);
      const nodeId = await makeNode(kit);
      const volumes = [await makeVolume(kit), await makeVolume(kit, { requiredBytes: smallSize(kit, 2) })];
      const [first] = volumes;
      if (!first) return;
      const attached = await attach(kit, first.id, nodeId);
      const gone = await makeVolume(kit);
      await kit.done('deleteVolume', { volumeId: gone.id });
      const snapshot = kit.has('snapshots') ? await takeSnapshot(kit, volumes.at(-1)?.id ?? '') : undefined;
      const group = kit.has('groups') ? await makeGroup(kit, volumes.slice(1)) : undefined;
      const listed = (await listAll(kit, 'listVolumes')).map(({ id }) => id);
      await restart(kit);
      for (const volume of volumes) await expectSame(kit, volume);
      const now = await kit.done('getAttachment', { volumeId: first.id, nodeId });
      expect(sameJson(now, attached), 'the attachment is the same as before the restart');
      const after = (await listAll(kit, 'listVolumes')).map(({ id }) => id);
      expect(sameJson(after, listed), 'the list is the same as before the restart');
      await kit.refused('getVolume', { volumeId: gone.id }, ['NOT_FOUND']);
      if (snapshot) requireOne(snapshot, await kit.done('getSnapshot', { snapshotId: snapshot.id }));
      if (!group) return;
      const found = await kit.done('getGroup', { groupId: group.id });
      expect(sameJson(found.snapshots, group.snapshots), 'the group is the same as before the restart');
    },
  ),
  'FL-8.3-2': must(
    'Work that a restart interrupts is finished by the repeated request, and leaves nothing else.',
  ).check(async kit => {
    requireRestart(kit);
    const ids = kit.isThorough ? offeredMutations(kit) : kit.random.some(offeredMutations(kit), 5);
    const all = [];
    for (const id of ids) all.push(await mutations[id](kit));
    // The vendor goes down while these requests are under way, and their answers are ignored.
    const lost = all.map(({ operation, input }) => kit.call(operation, input).catch(() => {}));
    await restart(kit);
    await Promise.all(lost);
    for (const mutation of all) await repeat(kit, mutation);
  }),
  'FL-8.3-3': must('A page token from before a restart continues the list, or is ABORTED.').check(
    async kit => {
      requireRestart(kit);
      const ids = [(await makeVolume(kit)).id, (await makeVolume(kit)).id, (await makeVolume(kit)).id];
      const { nextPageToken: pageToken = '' } = await kit.done('listVolumes', { limit: 1 });
      await restart(kit);
      const { code, body, exchange } = await kit.settle('listVolumes', { pageToken }, { final: ['ABORTED'] });
      if (code === 'ABORTED') return;
      const listed = new Set(body.volumes.map(({ id }) => id));
      expect(
        ids.slice(1).every(id => listed.has(id)),
        'the page after the restart has the volumes that follow',
        exchange,
      );
    },
  ),
} satisfies Chapter;

function requireRestart({ restart: restartVendor }: Kit): () => Promise<void> {
  if (!restartVendor)
    throw skip('neither --restart nor --start is given, so the kit cannot restart the vendor');
  return restartVendor;
}

/** Restarts the vendor, and waits until it answers again. */
export async function restart(kit: Kit): Promise<void> {
  await requireRestart(kit)();
  const seen = await poll(
    async () => ((await kit.call('getCapabilities', {})).answer?.status === 200 ? true : undefined),
    { everyMs: 50, timeoutMs: kit.timeoutMs },
  );
  if (!seen) throw fault(`the vendor answers within ${kit.timeoutMs} ms after its restart`);
}
