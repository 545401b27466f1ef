import { pause } from '../../lib/concurrency.ts';
import { expect } from '../finding.ts';
import type { Kit } from '../fixtures/kit.ts';
import { countedSize, minOf, readCapacity, usesOf, type SpaceUse } from './capacity.ts';
import { requireRestart, restart } from './restarts.ts';
import { countTime, must, type Chapter } from '../requirement.ts';

/** The requirement that a restart loses no space. */
export const lostSpace = {
  'FL-8.3-5': must(
    'Work that a restart interrupts keeps no space: deleting its resource gives all bytes back, even if no request repeats the work.',
    'capacity',
  ).check(async kit => {
    requireRestart(kit);
    const isLate = countTime(kit);
    const requiredBytes = countedSize(kit);
    for (const [name, use] of Object.entries(usesOf(kit, requiredBytes))) {
      if (isLate()) return;
      const lost = await minOf(async () => {
        const before = await readCapacity(kit);
        await interrupt(kit, use);
        return before.availableBytes - (await readCapacity(kit)).availableBytes;
      });
      const isBack = lost < requiredBytes / 2;
      expect(isBack, `deleting ${name} gives all their bytes back after restarts; ${lost} bytes are missing`);
    }
  }),
} satisfies Chapter;

/** Restarts the vendor in the middle of the work that takes the space. A repeated request finishes the work once, and not again. */
async function interrupt(kit: Kit, use: SpaceUse): Promise<void> {
  let tookMs = 0;
  await use(async (id, input) => {
    const startedMs = performance.now();
    await kit.done(id, input as never);
    tookMs = performance.now() - startedMs;
  });
  for (const isRepeated of [true, false])
    await use(async (id, input) => {
      const answer = kit.call(id, input).catch(() => {});
      await pause(tookMs / 2, kit.signal);
      await restart(kit);
      await answer;
      if (isRepeated) await kit.done(id, input as never);
    });
}
