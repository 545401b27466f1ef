import { expect, skip, unproved } from '../finding.ts';
import { causeOf, type Cause } from '../fixtures/cause.ts';
import { idsOf, nameOf, snapshotInput } from '../fixtures/fixtures.ts';
import type { Kit } from '../fixtures/kit.ts';
import { minRounds, orderFor, requireUntorn, writeDuring } from '../fixtures/torn.ts';
import type { OrderedVolume } from '../fixtures/torn.ts';
import { must, type Chapter } from '../requirement.ts';

/** Copies under writes that are looked at, and the tries to make them. */
const [wantedCopies, maxTries] = [8, 16];

/** The requirements of chapter 9 on copies of volumes under writes. */
export const tornCopies = {
  'FL-9.2-3': must(
    'A snapshot of a volume under writes has the bytes of one point in time after its request, or is FAILED_PRECONDITION.',
    'restore',
  ).check(async kit => {
    const source = await kit.createVolume({ requiredBytes: kit.smallSize(16) });
    await requireWhole(kit, [source], async () => {
      const snapshotId = kit.id();
      const { code } = await kit.settle('createSnapshot', snapshotInput(snapshotId, source.id));
      const restore = async () => {
        await kit.takeSnapshot(source.id, snapshotId).catch(() => {});
        const copy = { kind: 'snapshot', snapshotId } as const;
        return [await kit.createVolume({ source: copy, requiredBytes: 0 })];
      };
      return { code, restore, cause: causeOf(kit, 'createSnapshot', { snapshotId }) };
    });
  }),
  'FL-9.2-4': must(
    'All snapshots of a group have the bytes of one point in time after its request, or the group is FAILED_PRECONDITION.',
    'groups',
  ).check(async kit => {
    if (!kit.has('restore')) throw skip('the vendor does not offer "restore"');
    const volumes = [await kit.createVolume(), await kit.createVolume()];
    await requireWhole(kit, volumes, async () => {
      const groupId = kit.id();
      const body = { name: nameOf(groupId), volumeIds: idsOf(volumes) };
      const { code } = await kit.settle('createGroup', { groupId, body });
      const restore = async () => {
        const { snapshots } = await kit.createGroup(volumes, groupId);
        const made = [];
        for (const volume of volumes) {
          const snapshotId = snapshots.find(({ volumeId }) => volumeId === volume.id)?.id ?? '';
          made.push(await kit.createVolume({ source: { kind: 'snapshot', snapshotId }, requiredBytes: 0 }));
        }
        return made;
      };
      return { code, restore, cause: causeOf(kit, 'createGroup', { groupId }) };
    });
  }),
  'FL-9.2-5': must(
    'A clone of a volume under writes has the bytes of one point in time after its request, or is FAILED_PRECONDITION.',
    'clone',
  ).check(async kit => {
    const source = await kit.createVolume({ requiredBytes: kit.smallSize(16) });
    await requireWhole(kit, [source], async () => {
      const volumeId = kit.id();
      const origin = { kind: 'volume', volumeId: source.id } as const;
      const body = kit.specOf(volumeId, { source: origin, requiredBytes: 0 });
      const { code } = await kit.settle('createVolume', { volumeId, body });
      const restore = async () => [await kit.done('getVolume', { volumeId })];
      return { code, restore, cause: causeOf(kit, 'createVolume', { volumeId }) };
    });
  }),
} satisfies Chapter;

/** A copy of the volumes under writes: the code of its problem, and the work that makes volumes of it. */
type Copy = {
  readonly code: string | undefined;
  readonly restore: () => Promise<readonly OrderedVolume[]>;
  /** The request that copied. */
  readonly cause: Cause;
};

/**
 * Copies the volumes under writes, again and again, and throws a fault unless each copy has the bytes of one point in time during
 * its request.
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
    const { result, roundCount, since } = await writeDuring(kit, { volumes, order }, copy);
    const { code, restore, cause } = result;
    if (code === 'FAILED_PRECONDITION') return;
    expect(code === undefined, `success or FAILED_PRECONDITION, not ${code}`, cause.exchange);
    // The places depend on the size of the source; a copy may be larger.
    const made: OrderedVolume[] = [];
    for (const [index, { id }] of (await restore()).entries())
      made.push({ id, sizeBytes: volumes[index]?.sizeBytes ?? 0 });
    await requireUntorn(kit, { volumes: made, order, since, cause });
    if (roundCount >= minRounds) overlapped++;
  }
  if (overlapped < wantedCopies)
    throw unproved(`only ${overlapped} of ${maxTries} copies were made while bytes were written`);
}
