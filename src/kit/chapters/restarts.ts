import type { AttachmentResource } from '../../api/node.ts';
import type { Snapshot } from '../../api/snapshot.ts';
import type { Volume } from '../../api/volume.ts';
import { pause, poll } from '../../lib/concurrency.ts';
import { sameJson } from '../../lib/json.ts';
import { expect, fault, isFinding, skip } from '../finding.ts';
import { requireOpens } from '../fixtures/disk.ts';
import type { Kit } from '../fixtures/kit.ts';
import { offeredMutations, prepare, type MutatingCall, type MutationId } from '../fixtures/mutations.ts';
import { expectOne, idsOf } from '../fixtures/fixtures.ts';
import { createFilledVolumes } from '../fixtures/sources.ts';
import { countTime, must, type Chapter } from '../requirement.ts';
import { maxOf } from '../../lib/numbers.ts';

/** The requirements of chapter 8, section 3, except on space. */
export const restarts = {
  'FL-8.3-1': must('Finished work is still there after a restart, exactly as it was answered.').check(
    async kit => {
      requireRestart(kit);
      const nodeId = await kit.createNode();
      const [first, again] = [await kit.createVolume(), await createAgain(kit)];
      const last = await kit.createVolume({ requiredBytes: kit.smallSize(2) });
      const volumes = [first, again, last];
      const attached = [await attachAgain(kit, first.id, nodeId)];
      const gone = await kit.createVolume();
      await kit.done('deleteVolume', { volumeId: gone.id });
      const snapshots = kit.has('snapshots')
        ? [await kit.takeSnapshot(last.id), await takeAndDelete(kit)]
        : [];
      const group = kit.has('groups') ? await kit.createGroup(volumes.slice(1)) : undefined;
      const filled = await createFilledVolumes(kit);
      const reading = { volumeId: last.id, nodeId, body: kit.accessOf({ readonly: true }) };
      attached.push(await kit.done('attachVolume', reading));
      const listed = idsOf(await kit.listAll('listVolumes'));
      await restart(kit);
      for (const volume of volumes) await kit.expectSame(volume);
      for (const one of attached) {
        const now = await kit.done('getAttachment', { volumeId: one.volumeId, nodeId });
        expect(sameJson(now, one), 'the attachment is the same as before the restart');
      }
      const other = kit.specOf(first.id, { name: `${first.name}-x` });
      await kit.refused('createVolume', { volumeId: first.id, body: other }, ['ALREADY_EXISTS']);
      const after = idsOf(await kit.listAll('listVolumes'));
      expect(sameJson(after, listed), 'the list is the same as before the restart');
      await kit.refused('getVolume', { volumeId: gone.id }, ['NOT_FOUND']);
      for (const id of filled) {
        const { attachment } = await kit.attach(id, nodeId);
        expect(attachment?.mayFormat === false, `"mayFormat" of "${id}" is false, as before the restart`);
      }
      for (const one of snapshots)
        expectOne('snapshot', one, await kit.done('getSnapshot', { snapshotId: one.id }));
      if (!group) return;
      const found = await kit.done('getGroup', { groupId: group.id });
      expect(sameJson(found.snapshots, group.snapshots), 'the group is the same as before the restart');
    },
  ),
  'FL-8.3-2': must(
    'Work that a restart interrupts is finished by the repeated request, and leaves nothing else.',
  ).check(async kit => {
    requireRestart(kit);
    const isLate = countTime(kit);
    await requireOpens(kit, (await kit.createVolume()).id);
    const all = await prepareAll(kit, offeredMutations(kit));
    // The vendor goes down while these requests are under way, and their answers are ignored.
    const lost = all.map(({ operation, input }) => kit.call(operation, input).catch(() => {}));
    await restart(kit);
    await Promise.all(lost);
    for (const { repeat } of all) await repeat();
    await interruptAll(kit, isLate);
  }),
  'FL-8.3-3': must('A page token from before a restart continues the list, or is ABORTED.').check(
    async kit => {
      requireRestart(kit);
      const ids = [
        (await kit.createVolume()).id,
        (await kit.createVolume()).id,
        (await kit.createVolume()).id,
      ];
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
  'FL-8.3-4': must(
    'Every kind of change is durable before its answer: the last change before a power failure is still there.',
  ).check(async kit => {
    requireRestart(kit);
    // Alone a change shows best that it is not durable, so this check takes its time.
    const isLate = countTime(kit, 2 / 3);
    for (const left = [...offeredMutations(kit)]; left.length > 0;) {
      // Each change is the last one before a restart, or the last ones are made at once.
      const changes = await prepareAll(kit, left.splice(0, isLate() ? left.length : 1));
      await Promise.all(changes.map(({ operation, input }) => kit.done(operation, input as never)));
      await restart(kit);
      for (const change of changes) await requireDurable(change);
    }
  }),
} satisfies Chapter;

/** Attaches the volume to the node for a second time. */
async function attachAgain(kit: Kit, volumeId: string, nodeId: string): Promise<AttachmentResource> {
  await kit.attach(volumeId, nodeId);
  await kit.done('detachVolume', { volumeId, nodeId });
  return kit.attach(volumeId, nodeId);
}

/** Creates a volume with the id of a deleted one. */
async function createAgain(kit: Kit): Promise<Volume> {
  const { id: volumeId } = await kit.createVolume();
  await kit.done('deleteVolume', { volumeId });
  return kit.createVolume({}, volumeId);
}

/** Takes a snapshot, and deletes its volume if the vendor allows that. */
async function takeAndDelete(kit: Kit): Promise<Snapshot> {
  const { id: volumeId } = await kit.createVolume();
  const snapshot = await kit.takeSnapshot(volumeId);
  await kit.settle('deleteVolume', { volumeId });
  return snapshot;
}

/** Number of the slowest changes. Each of them is interrupted alone. */
const maxAlone = 3;
/** Shares of the time of a change after which it is interrupted. */
const shares = [0.4, 0.7] as const;

/** A kind of change, and the time that the vendor takes for it. */
type Timed = { readonly id: MutationId; readonly tookMs: number };

/**
 * Restarts the vendor in the middle of every kind of change, and then repeats the change. The slowest changes are
 * interrupted one by one while there is time, since a vendor may queue them, and the others together.
 */
async function interruptAll(kit: Kit, isLate: () => boolean): Promise<void> {
  const all: Timed[] = [];
  for (const id of offeredMutations(kit)) {
    const { input } = await prepare(kit, id);
    const startedMs = performance.now();
    await kit.done(id, input as never);
    all.push({ id, tookMs: performance.now() - startedMs });
  }
  const left = all.toSorted((one, other) => other.tookMs - one.tookMs);
  for (const one of left.splice(0, kit.isThorough ? left.length : maxAlone))
    if (isLate()) left.push(one);
    else for (const share of shares) await interrupt(kit, [one], share);
  if (left.length > 0) await interrupt(kit, left);
}

/** Restarts the vendor after this share of the time of all the changes, and then repeats them. */
async function interrupt(kit: Kit, all: readonly Timed[], share = 0.5): Promise<void> {
  const killMs = maxOf(all.map(({ tookMs }) => tookMs * share));
  const changes = await prepareAll(
    kit,
    all.map(({ id }) => id),
  );
  const lost = changes.map(async ({ operation, input }, index) => {
    await pause(killMs - (all[index]?.tookMs ?? 0) * share, kit.signal);
    await kit.call(operation, input).catch(() => {});
  });
  await pause(killMs, kit.signal);
  await restart(kit);
  await Promise.all(lost);
  for (const { repeat } of changes) await repeat();
}

export function requireRestart({ restart: restartVendor }: Kit): () => Promise<void> {
  if (!restartVendor)
    throw skip('neither --restart nor --start is given, so the kit cannot restart the vendor');
  return restartVendor;
}

/** Prepares one call of each operation. */
async function prepareAll(kit: Kit, ids: readonly MutationId[]): Promise<readonly MutatingCall[]> {
  const all = [];
  for (const id of ids) all.push(await prepare(kit, id));
  return all;
}

/** Throws a fault unless the change that was answered before a restart is still there. */
async function requireDurable({ operation, verify }: MutatingCall): Promise<void> {
  await verify().catch((error: unknown) => {
    if (!isFinding(error)) throw error;
    const { message, exchange, requirement } = error;
    throw fault(`${operation} is durable before its answer: ${message}`, { exchange, requirement });
  });
}

/** Time limit for a restart, as a multiple of an operation's. */
const restartFactor = 4;

/** Restarts the vendor, and waits until it answers again. */
export async function restart(kit: Kit): Promise<void> {
  await requireRestart(kit)();
  const timeoutMs = restartFactor * kit.timeoutMs;
  const seen = await poll(
    async () => ((await kit.call('getCapabilities', {})).answer?.status === 200 ? true : undefined),
    { everyMs: 50, timeoutMs },
  );
  if (!seen) throw fault(`the vendor answers within ${timeoutMs} ms after its restart`);
}
