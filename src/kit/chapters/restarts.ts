import { pause, poll } from '../../lib/concurrency.ts';
import { sameJson } from '../../lib/json.ts';
import { expect, fault, isFinding, skip } from '../finding.ts';
import { requireOpens } from '../fixtures/disk.ts';
import type { Kit } from '../fixtures/kit.ts';
import { offeredMutations, prepare, type MutationId } from '../fixtures/mutations.ts';
import { expectOne, idsOf } from '../fixtures/fixtures.ts';
import { must, type Chapter } from '../requirement.ts';
import { maxOf } from '../../lib/numbers.ts';

/** The requirements of chapter 8, section 3. */
export const restarts = {
  'FL-8.3-1': must('Finished work is still there after a restart, exactly as it was answered.').check(
    async kit => {
      requireRestart(kit);
      const nodeId = await kit.makeNode();
      const volumes = [await kit.makeVolume(), await kit.makeVolume({ requiredBytes: kit.smallSize(2) })];
      const [first] = volumes;
      if (!first) return;
      const attached = await kit.attach(first.id, nodeId);
      const gone = await kit.makeVolume();
      await kit.done('deleteVolume', { volumeId: gone.id });
      const snapshot = kit.has('snapshots') ? await kit.takeSnapshot(volumes.at(-1)?.id ?? '') : undefined;
      const group = kit.has('groups') ? await kit.makeGroup(volumes.slice(1)) : undefined;
      const filled = await volumesWithData(kit);
      const listed = idsOf(await kit.listAll('listVolumes'));
      await restart(kit);
      for (const volume of volumes) await kit.expectSame(volume);
      const now = await kit.done('getAttachment', { volumeId: first.id, nodeId });
      expect(sameJson(now, attached), 'the attachment is the same as before the restart');
      const after = idsOf(await kit.listAll('listVolumes'));
      expect(sameJson(after, listed), 'the list is the same as before the restart');
      await kit.refused('getVolume', { volumeId: gone.id }, ['NOT_FOUND']);
      for (const id of filled) {
        const { attachment } = await kit.attach(id, nodeId);
        expect(attachment?.mayFormat === false, `"mayFormat" of "${id}" is false, as before the restart`);
      }
      if (snapshot)
        expectOne('snapshot', snapshot, await kit.done('getSnapshot', { snapshotId: snapshot.id }));
      if (!group) return;
      const found = await kit.done('getGroup', { groupId: group.id });
      expect(sameJson(found.snapshots, group.snapshots), 'the group is the same as before the restart');
    },
  ),
  'FL-8.3-2': must(
    'Work that a restart interrupts is finished by the repeated request, and leaves nothing else.',
  ).check(async kit => {
    requireRestart(kit);
    await requireOpens(kit, (await kit.makeVolume()).id);
    const all = [];
    for (const id of offeredMutations(kit)) all.push(await prepare(kit, id));
    // The vendor goes down while these requests are under way, and their answers are ignored.
    const lost = all.map(({ operation, input }) => kit.call(operation, input).catch(() => {}));
    await restart(kit);
    await Promise.all(lost);
    for (const { repeat } of all) await repeat();
    await interruptAll(kit);
  }),
  'FL-8.3-3': must('A page token from before a restart continues the list, or is ABORTED.').check(
    async kit => {
      requireRestart(kit);
      const ids = [(await kit.makeVolume()).id, (await kit.makeVolume()).id, (await kit.makeVolume()).id];
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
    for (const id of offeredMutations(kit)) {
      const { operation, input, verify } = await prepare(kit, id);
      await kit.done(operation, input as never);
      await restart(kit);
      await verify().catch((error: unknown) => {
        const { message } = error instanceof Error ? error : { message: String(error) };
        throw isFinding(error)
          ? fault(`${operation} is durable before its answer: ${message}`, { exchange: error.exchange })
          : error;
      });
    }
  }),
} satisfies Chapter;

/** Number of the slowest changes. Each of them is interrupted alone. */
const maxAlone = 3;
/** Shares of the time of a change after which it is interrupted. */
const shares = [0.4, 0.7] as const;

/** A kind of change, and the time that the vendor takes for it. */
type Timed = { readonly id: MutationId; readonly tookMs: number };

/**
 * Restarts the vendor in the middle of every kind of change, and then repeats the change. The slowest changes are
 * interrupted one by one, since a vendor may queue them, and the others together.
 */
async function interruptAll(kit: Kit): Promise<void> {
  const all: Timed[] = [];
  for (const id of offeredMutations(kit)) {
    const { input } = await prepare(kit, id);
    const startedMs = performance.now();
    await kit.done(id, input as never);
    all.push({ id, tookMs: performance.now() - startedMs });
  }
  const bySlowness = all.toSorted((one, other) => other.tookMs - one.tookMs);
  const alone = kit.isThorough ? bySlowness : bySlowness.slice(0, maxAlone);
  for (const one of alone) for (const share of shares) await interrupt(kit, [one], share);
  if (alone.length < all.length) await interrupt(kit, bySlowness.slice(alone.length));
}

/** Restarts the vendor after this share of the time of all the changes, and then repeats them. */
async function interrupt(kit: Kit, all: readonly Timed[], share = 0.5): Promise<void> {
  const killMs = maxOf(all.map(({ tookMs }) => tookMs * share));
  const changes = [];
  for (const { id, tookMs } of all) changes.push({ ...(await prepare(kit, id)), tookMs });
  const lost = changes.map(async ({ operation, input, tookMs }) => {
    await pause(killMs - tookMs * share, kit.signal);
    await kit.call(operation, input).catch(() => {});
  });
  await pause(killMs, kit.signal);
  await restart(kit);
  await Promise.all(lost);
  for (const { repeat } of changes) await repeat();
}

/** Makes the volumes that a node must not format: one that was attached as a block device, and one from a source. */
async function volumesWithData(kit: Kit): Promise<readonly string[]> {
  const usual = kit.capabilityOf();
  const capability = { ...usual, accessType: 'block' } as const;
  const isUsedRaw = usual.accessType === 'mount' && kit.capabilities.accessTypes.includes('block');
  const capabilities = isUsedRaw ? [usual, capability] : [usual];
  const { id: volumeId } = await kit.makeVolume({ capabilities });
  const nodeId = await kit.makeNode();
  if (isUsedRaw) {
    await kit.done('attachVolume', { volumeId, nodeId, body: kit.accessOf({ capability }) });
    await kit.done('detachVolume', { volumeId, nodeId });
  }
  const clone = kit.has('clone') ? await kit.makeVolume({ source: { kind: 'volume', volumeId } }) : undefined;
  return [...(isUsedRaw ? [volumeId] : []), ...(clone ? [clone.id] : [])];
}

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
