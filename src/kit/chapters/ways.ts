import { poll } from '../../lib/concurrency.ts';
import { expect, skip } from '../finding.ts';
import { expectFilled, fill } from '../fixtures/bytes.ts';
import { causeOf } from '../fixtures/cause.ts';
import { withDisk } from '../fixtures/disk.ts';
import type { Kit } from '../fixtures/kit.ts';
import { holdOpen, type OldWay } from '../fixtures/old-way.ts';
import { must, type Chapter } from '../requirement.ts';

/** Time limit for detaching a volume in use, in milliseconds. */
const heldMs = 2_000;
const blockBytes = 4_096;

/** The requirements that a detach closes a node's way for good. */
export const ways = {
  'FL-9.1-5': must(
    'Once a detach has answered 204, nothing that the node still writes reaches the volume.',
  ).check(kit =>
    withOldWay(kit, async ({ volumeId, nodeId, way, sizeBytes, write }) => {
      await write(way);
      const { by, exchange } = causeOf(kit, 'detachVolume', { volumeId, nodeId });
      const cause = { by: `${by}, which left the node's way open,`, exchange };
      await withDisk(kit, volumeId, disk => expectFilled(disk, { sizeBytes, word: 'own', cause }));
    }),
  ),
  'FL-9.1-6': must(
    "A node's way that a detach has closed stays closed when the volume is attached again, also to the same node.",
  ).check(kit =>
    withOldWay(kit, async ({ volumeId, nodeId, way, sizeBytes, write }) => {
      await kit.attach(volumeId, nodeId);
      await write(way);
      const { by, exchange } = causeOf(kit, 'attachVolume', { volumeId, nodeId });
      const cause = { by: `${by}, which opened a closed way again,`, exchange };
      await kit.done('detachVolume', { volumeId, nodeId });
      await withDisk(kit, volumeId, disk => expectFilled(disk, { sizeBytes, word: 'own', cause }));
    }),
  ),
} satisfies Chapter;

/** A volume that was detached from the node while the node held its way open. */
type Detached = {
  readonly volumeId: string;
  readonly nodeId: string;
  readonly sizeBytes: number;
  readonly way: OldWay;
  readonly write: (way: OldWay) => Promise<void>;
};

/**
 * Attaches a volume, holds its way open, and detaches it. Runs `work` only if the vendor says that it is detached: a vendor
 * that cannot close the way keeps the rule by another answer.
 */
async function withOldWay(kit: Kit, work: (detached: Detached) => Promise<void>): Promise<void> {
  if (!kit.hasData) throw skip('--data is not given, so the kit reads and writes no bytes');
  const { id: volumeId, sizeBytes } = await kit.createVolume();
  await withDisk(kit, volumeId, disk => fill(disk, sizeBytes, 'own'));
  const nodeId = await kit.createNode();
  const { attachment } = await kit.attach(volumeId, nodeId);
  const way = await holdOpen(attachment);
  try {
    if (!(await isDetached(kit, volumeId, nodeId))) return;
    const write = async (old: OldWay): Promise<void> => {
      await old.write(0, Buffer.alloc(blockBytes, 'late'));
    };
    await work({ volumeId, nodeId, sizeBytes, way, write });
  } finally {
    await way.release();
    await kit.done('detachVolume', { volumeId, nodeId });
  }
}

/** Asks for the detach of a volume in use until the answer is 204 (true), or a refusal or none in time (false). */
async function isDetached(kit: Kit, volumeId: string, nodeId: string): Promise<boolean> {
  const answer = await poll(
    async () => {
      const { status, code, exchange } = await kit.ask('detachVolume', { volumeId, nodeId }, { waitS: 1 });
      if (status === 202 || code === 'ABORTED' || code === 'UNAVAILABLE') return undefined;
      const isKnown = code === undefined || code === 'FAILED_PRECONDITION';
      expect(isKnown, `204, 202 or FAILED_PRECONDITION for a volume in use, not ${code}`, exchange);
      return code ?? 'detached';
    },
    { everyMs: 100, timeoutMs: heldMs },
  );
  return answer === 'detached';
}
