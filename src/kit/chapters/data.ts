import type { OperationId } from '../../api/operations.ts';
import type { VolumeSpec } from '../../api/volume.ts';
import { pause } from '../../lib/concurrency.ts';
import { expect, skip } from '../finding.ts';
import { blockBytes, expectCopy, expectFilled, expectZeros, fill, leaveBytes } from '../fixtures/bytes.ts';
import { causeOf } from '../fixtures/cause.ts';
import { withDisk } from '../fixtures/disk.ts';
import { snapshotInput } from '../fixtures/fixtures.ts';
import type { Kit } from '../fixtures/kit.ts';
import { modifications } from '../fixtures/mutations.ts';
import { similarIds } from '../fixtures/similar.ts';
import { sourcesOf } from '../fixtures/sources.ts';
import type { AnyInput } from '../http/exchange.ts';
import { readBlocks } from './groups.ts';
import { lateMs } from './late.ts';
import { restart } from './restarts.ts';
import { must, type Chapter } from '../requirement.ts';

/** The requirements of chapter 9 on single volumes and on blocks. */
export const data = {
  'FL-9.1-1': must(
    'If the capabilities say `zeroed`, a new volume reads as zeros, even where a deleted one was.',
  ).check(async kit => {
    requireZeroed(kit);
    const { id, sizeBytes } = await kit.createVolume();
    await withDisk(kit, id, async disk => {
      const cause = causeOf(kit, 'createVolume', { volumeId: id });
      await expectZeros(disk, { from: 0, length: sizeBytes, cause });
      await fill(disk, sizeBytes, 'old');
    });
    // Each volume leaves bytes that the next one must not show, under the same id, another id, and with another size.
    let last = id;
    for (const [volumeId, factor] of [[id, 1] as const, [kit.id(), 1] as const, [id, 2] as const]) {
      await kit.done('deleteVolume', { volumeId: last });
      const { sizeBytes: length } = await kit.createVolume(
        { requiredBytes: kit.smallSize(factor) },
        volumeId,
      );
      const { by, exchange } = causeOf(kit, 'createVolume', { volumeId });
      const cause = { by: `${by}, after deleteVolume of "${last}",`, exchange };
      await withDisk(kit, volumeId, async disk => {
        await expectZeros(disk, { from: 0, length, cause });
        await fill(disk, length, 'old');
      });
      last = volumeId;
    }
  }),
  'FL-9.1-2': must('Written bytes can be read after detaching and attaching again, on any node.').check(
    async kit => {
      const { id, sizeBytes } = await kit.createVolume();
      await withDisk(kit, id, disk => fill(disk, sizeBytes, 'own'));
      const cause = causeOf(kit, 'detachVolume', { volumeId: id });
      await withDisk(kit, id, disk => expectFilled(disk, { sizeBytes, word: 'own', cause }));
    },
  ),
  'FL-9.1-3': must(
    'An expanded volume and its snapshots keep their bytes, even if it was large enough, and if the capabilities say `zeroed` the new ones are zeros.',
    'expand',
  ).check(async kit => {
    const { id, sizeBytes } = await kit.createVolume();
    await withDisk(kit, id, disk => fill(disk, sizeBytes, 'own'));
    const snapshot = kit.has('restore') ? await kit.takeSnapshot(id) : undefined;
    await leaveBytes(kit, sizeBytes * 2);
    const grown = await kit.done('expandVolume', { volumeId: id, body: { requiredBytes: sizeBytes * 2 } });
    const cause = causeOf(kit, 'expandVolume', { volumeId: id });
    if (snapshot)
      await expectCopy(kit, { kind: 'snapshot', snapshotId: snapshot.id }, { sizeBytes, word: 'own', cause });
    await withDisk(kit, id, async disk => {
      await expectFilled(disk, { sizeBytes, word: 'own', cause });
      const length = grown.sizeBytes - sizeBytes;
      if (kit.capabilities.zeroed) await expectZeros(disk, { from: sizeBytes, length, cause });
      await fill(disk, grown.sizeBytes, 'all');
    });
    for (const requiredBytes of [grown.sizeBytes, sizeBytes, 0]) {
      await kit.done('expandVolume', { volumeId: id, body: { requiredBytes } });
      const again = causeOf(kit, 'expandVolume', { volumeId: id });
      await withDisk(kit, id, disk =>
        expectFilled(disk, { sizeBytes: grown.sizeBytes, word: 'all', cause: again }),
      );
    }
  }),
  'FL-9.1-4': must(
    'Written bytes can be read after a restart, also those of snapshots and clones that were made before it.',
  ).check(async kit => {
    const { id, sizeBytes } = await kit.createVolume();
    await withDisk(kit, id, disk => fill(disk, sizeBytes, 'own'));
    const ids = [id];
    if (kit.has('clone')) ids.push((await kit.createVolume({ source: { kind: 'volume', volumeId: id } })).id);
    const snapshot = kit.has('restore') ? await kit.takeSnapshot(id) : undefined;
    await restart(kit);
    if (snapshot)
      ids.push((await kit.createVolume({ source: { kind: 'snapshot', snapshotId: snapshot.id } })).id);
    const cause = { by: 'the restart', exchange: null };
    for (const one of ids)
      await withDisk(kit, one, disk => expectFilled(disk, { sizeBytes, word: 'own', cause }));
  }),
  'FL-9.1-7': must(
    'Only writing changes the bytes of a volume: no other request does, whether it succeeds or is refused.',
  ).check(async kit => {
    const { id: volumeId, sizeBytes } = await kit.createVolume();
    await withDisk(kit, volumeId, disk => fill(disk, sizeBytes, 'own'));
    for (const request of harmlessRequests(kit, volumeId)) {
      const { id, input } = await request();
      const cause = causeOf(kit, id, input);
      await withDisk(kit, volumeId, disk => expectFilled(disk, { sizeBytes, word: 'own', cause }));
    }
    // A repeated request for a copy does not copy again.
    for (const source of await sourcesOf(kit, volumeId)) {
      const { id: copy } = await kit.createVolume({ source, requiredBytes: 0 });
      await withDisk(kit, copy, disk => fill(disk, sizeBytes, 'its'));
      await kit.createVolume({ source, requiredBytes: 0 }, copy);
      const cause = causeOf(kit, 'createVolume', { volumeId: copy });
      await withDisk(kit, copy, disk => expectFilled(disk, { sizeBytes, word: 'its', cause }));
    }
  }),
  'FL-9.1-8': must(
    'Volumes and snapshots whose ids are alike have bytes of their own, and copies have those of the named source.',
  ).check(async kit => {
    const [first, others] = similarIds(kit);
    const ids = [...others, first];
    const words = new Map(ids.map((id, index) => [id, `own ${index}`]));
    for (const id of ids) {
      const { sizeBytes } = await kit.createVolume({}, id);
      await withDisk(kit, id, disk => fill(disk, sizeBytes, words.get(id) ?? ''));
      if (kit.has('restore')) await kit.takeSnapshot(id, id);
    }
    for (const [id, word] of words) {
      const { sizeBytes } = await kit.done('getVolume', { volumeId: id });
      const cause = causeOf(kit, 'createVolume', { volumeId: id });
      await withDisk(kit, id, disk => expectFilled(disk, { sizeBytes, word, cause }));
      if (kit.has('clone')) await expectCopy(kit, { kind: 'volume', volumeId: id }, { sizeBytes, word });
      if (!kit.has('restore')) continue;
      const taking = causeOf(kit, 'createSnapshot', { snapshotId: id });
      await expectCopy(kit, { kind: 'snapshot', snapshotId: id }, { sizeBytes, word, cause: taking });
    }
  }),
  'FL-9.1-9': must(
    'After any request for an attached volume, its node still reads and writes the bytes of that volume through the device that it has open.',
  ).check(async kit => {
    const { id: volumeId, sizeBytes } = await kit.createVolume();
    for (const [index, { id, input }] of requestsInUse(kit, volumeId).entries()) {
      const [before, after] = [`old ${index}`, `own ${index}`];
      await withDisk(kit, volumeId, async disk => {
        await fill(disk, sizeBytes, before);
        const { code, exchange } = await kit.settle(id, input as never);
        const isKnown = code === undefined || code === 'FAILED_PRECONDITION';
        expect(isKnown, `success or FAILED_PRECONDITION, not ${code}`, exchange);
        await expectFilled(disk, { sizeBytes, word: before, cause: causeOf(kit, id, input) });
        await fill(disk, sizeBytes, after);
      });
      const cause = causeOf(kit, id, input);
      await withDisk(kit, volumeId, disk => expectFilled(disk, { sizeBytes, word: after, cause }));
    }
  }),
  'FL-9.1-10': must(
    'No request changes bytes after its answer: a second later a volume, its copies, and the next volumes after a deletion, with the same id or another, still have theirs.',
  ).check(async kit => {
    const { id, sizeBytes } = await kit.createVolume();
    await withDisk(kit, id, disk => fill(disk, sizeBytes, 'old'));
    const sources = await sourcesOf(kit, id);
    /** Creates a volume and writes to it, before a late effect of an earlier request. */
    const use = async (more: Partial<VolumeSpec>, volumeId = kit.id()): Promise<string> => {
      await kit.createVolume(more, volumeId);
      await withDisk(kit, volumeId, disk => fill(disk, sizeBytes, 'its'));
      return volumeId;
    };
    const [copies, used]: [string[], string[]] = [[], []];
    for (const source of sources) {
      copies.push((await kit.createVolume({ source, requiredBytes: 0 })).id);
      used.push(await use({ source, requiredBytes: 0 }));
    }
    await withDisk(kit, id, disk => fill(disk, sizeBytes, 'new'));
    const { id: next } = await kit.createVolume();
    await kit.done('deleteVolume', { volumeId: next });
    await use({}, next);
    used.push(await use({}));
    await pause(lateMs, kit.signal);
    for (const [volumeId, word, by] of [
      [id, 'new', 'detachVolume'] as const,
      [next, 'its', 'deleteVolume'] as const,
      ...used.map(one => [one, 'its', 'createVolume'] as const),
      ...copies.map(copy => [copy, 'old', 'createVolume'] as const),
    ]) {
      const cause = causeOf(kit, by, { volumeId });
      await withDisk(kit, volumeId, disk => expectFilled(disk, { sizeBytes, word, cause }));
    }
    for (const source of sources) {
      if (source.kind !== 'snapshot') continue;
      const cause = causeOf(kit, 'createSnapshot', { snapshotId: source.snapshotId });
      await expectCopy(kit, source, { sizeBytes, word: 'old', cause });
    }
  }),
  'FL-9.3-1': must(
    'The lists of allocated blocks, and of blocks that differ from a base, contain every written byte.',
    'changes',
  ).check(async kit => {
    const { id, sizeBytes } = await kit.createVolume();
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

/** A request that was sent: its operation and its ids. */
type SentRequest = { readonly id: OperationId; readonly input: AnyInput };

/** Makes requests to the volume that change no bytes. The volume is detached after each. */
function harmlessRequests(kit: Kit, volumeId: string): readonly (() => Promise<SentRequest>)[] {
  const refused = { ...kit.specOf(volumeId), requiredBytes: kit.smallSize(4) };
  const snapshotId = kit.id();
  const request = async (id: OperationId, input: AnyInput): Promise<SentRequest> => {
    await kit.settle(id, input as never);
    return { id, input };
  };
  const whileAttached = (id: OperationId, input: AnyInput) => async () => {
    const nodeId = await kit.createNode();
    await kit.attach(volumeId, nodeId);
    const sent = await request(id, input);
    await kit.done('detachVolume', { volumeId, nodeId });
    return sent;
  };
  return [
    () => request('createVolume', { volumeId, body: kit.specOf(volumeId) }),
    () => request('createVolume', { volumeId, body: refused }),
    whileAttached('deleteVolume', { volumeId }),
    whileAttached('attachVolume', { volumeId, nodeId: kit.id(), body: kit.accessOf() }),
    ...(kit.has('expand') ? [() => request('expandVolume', { volumeId, body: { limitBytes: 1 } })] : []),
    ...modifications(kit, volumeId).map(input => () => request('modifyVolume', input)),
    ...(kit.has('snapshots')
      ? [
          () => request('createSnapshot', snapshotInput(snapshotId, volumeId)),
          () => request('deleteSnapshot', { snapshotId }),
        ]
      : []),
  ];
}

/** Lists the requests that an attached volume may get: each succeeds, or is FAILED_PRECONDITION. */
function requestsInUse(kit: Kit, volumeId: string): readonly SentRequest[] {
  const clone = kit.id();
  const source = { kind: 'volume', volumeId } as const;
  const all: SentRequest[] = [];
  const add = (id: OperationId, input: AnyInput): void => void all.push({ id, input });
  for (const input of modifications(kit, volumeId)) add('modifyVolume', input);
  if (kit.has('expand')) add('expandVolume', { volumeId, body: { requiredBytes: kit.smallSize(2) } });
  if (kit.has('snapshots')) add('createSnapshot', snapshotInput(kit.id(), volumeId));
  if (kit.has('clone'))
    add('createVolume', { volumeId: clone, body: kit.specOf(clone, { source, requiredBytes: 0 }) });
  return all;
}

function requireZeroed({ capabilities: { zeroed } }: Kit): void {
  if (!zeroed) throw skip('the vendor does not promise that new volumes read as zeros ("zeroed")');
}
