import type { VolumeSource } from '../../api/volume.ts';
import { pause } from '../../lib/concurrency.ts';
import { expectCopy, expectFilled, fill } from '../fixtures/bytes.ts';
import { causeOf, type Cause } from '../fixtures/cause.ts';
import { withDisk } from '../fixtures/disk.ts';
import { snapshotInput } from '../fixtures/fixtures.ts';
import type { Kit } from '../fixtures/kit.ts';
import { requireSources } from '../fixtures/sources.ts';
import { countTime, must, type Chapter } from '../requirement.ts';
import { requireRestart, restart } from './restarts.ts';

/** Times of the interruptions of a copy, as shares of its own time. */
const shares = [0.5, 0.25, 0.75] as const;

/** The bytes of the source. */
type Filled = { readonly sizeBytes: number; readonly word: string };

/** A new copy: its first request, its requests until it is done, and the check of its bytes. */
type Copying = {
  readonly begin: () => Promise<unknown>;
  readonly finish: () => Promise<unknown>;
  readonly verify: () => Promise<void>;
};

/** The requirement that a restart leaves no copy without bytes. */
export const cutCopies = {
  'FL-9.2-10': must(
    'A snapshot or a copy that a restart interrupts has all bytes of its source once the repeated request is answered.',
  ).check(async kit => {
    requireRestart(kit);
    const isLate = countTime(kit, 2 / 3);
    const { id, sizeBytes } = await kit.createVolume({ requiredBytes: kit.smallSize(16) });
    const filled = { sizeBytes, word: 'own' };
    await withDisk(kit, id, disk => fill(disk, sizeBytes, filled.word));
    const copies = (await requireSources(kit, id)).map(source => () => copyOf(kit, source, filled));
    const kinds = kit.has('restore') ? [() => snapshotOf(kit, id, filled), ...copies] : copies;
    const timed = [];
    for (const make of kinds) {
      const startedMs = performance.now();
      await make().finish();
      timed.push({ make, tookMs: performance.now() - startedMs });
    }
    for (const share of shares)
      for (const { make, tookMs } of timed) {
        if (isLate()) return;
        const { begin, finish, verify } = make();
        const begun = begin().catch(() => {});
        await pause(tookMs * share, kit.signal);
        await restart(kit);
        await begun;
        await finish();
        await verify();
      }
  }),
} satisfies Chapter;

function snapshotOf(kit: Kit, volumeId: string, filled: Filled): Copying {
  const snapshotId = kit.id();
  return {
    begin: () => kit.call('createSnapshot', snapshotInput(snapshotId, volumeId)),
    finish: () => kit.done('createSnapshot', snapshotInput(snapshotId, volumeId)),
    async verify() {
      await kit.untilReady(() => kit.done('getSnapshot', { snapshotId }));
      const cause = afterRestart(causeOf(kit, 'createSnapshot', { snapshotId }));
      return expectCopy(kit, { kind: 'snapshot', snapshotId }, { ...filled, cause });
    },
  };
}

function copyOf(kit: Kit, source: VolumeSource, filled: Filled): Copying {
  const volumeId = kit.id();
  const body = kit.specOf(volumeId, { source, requiredBytes: 0 });
  return {
    begin: () => kit.call('createVolume', { volumeId, body }),
    finish: () => kit.done('createVolume', { volumeId, body }),
    verify() {
      const cause = afterRestart(causeOf(kit, 'createVolume', { volumeId }));
      return withDisk(kit, volumeId, disk => expectFilled(disk, { ...filled, cause }));
    },
  };
}

function afterRestart({ by, exchange }: Cause): Cause {
  return { by: `${by} (repeated after a restart)`, exchange };
}
