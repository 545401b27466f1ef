import { pause } from '../../lib/concurrency.ts';
import { sameJson } from '../../lib/json.ts';
import { expect } from '../finding.ts';
import { expectOne, snapshotInput } from '../fixtures/fixtures.ts';
import type { Kit } from '../fixtures/kit.ts';
import { modifications } from '../fixtures/mutations.ts';
import { must, type Chapter } from '../requirement.ts';

/** Time after the last answer until everything is read back, in milliseconds. */
export const lateMs = 1_200;

/** Reads a part of the vendor's state, and throws a fault unless it is as it was answered. */
type Reading = () => Promise<void>;

/** The requirement that calls act before their answers only. */
export const late = {
  'FL-8.4-3': must(
    'A call has no effect after its answer: a second later everything still reads as it was answered.',
  ).check(async kit => {
    const readings = [
      await attachAgain(kit),
      await attachElsewhere(kit),
      await createAgain(kit),
      await deleteAfterLoss(kit),
      await detachAfterLoss(kit),
      await changeTwice(kit),
      ...(kit.has('snapshots') ? [await snapshotAgain(kit), await snapshotAfterLoss(kit)] : []),
      ...(kit.has('groups') ? [await groupAgain(kit)] : []),
      ...(kit.has('nodes') ? [await nodeAgain(kit)] : []),
    ];
    await pause(lateMs, kit.signal);
    for (const read of readings) await read();
  }),
} satisfies Chapter;

async function attachAgain(kit: Kit): Promise<Reading> {
  const { volumeId, nodeId } = await kit.createAttachment();
  for (let again = 0; again < 2; again++) await kit.done('detachVolume', { volumeId, nodeId });
  return readAttachment(kit, volumeId, nodeId);
}

async function attachElsewhere(kit: Kit): Promise<Reading> {
  const { volumeId, nodeId } = await kit.createAttachment();
  const other = await kit.createNode();
  await kit.lose('detachVolume', { volumeId, nodeId }, { kind: 'cut-answer' });
  await kit.done('detachVolume', { volumeId, nodeId });
  return readAttachment(kit, volumeId, other);
}

/** Attaches the volume to the node, and returns the reading of this attachment. */
async function readAttachment(kit: Kit, volumeId: string, nodeId: string): Promise<Reading> {
  const attached = await kit.attach(volumeId, nodeId);
  return async () => {
    const { code, body, exchange } = await kit.settle('getAttachment', { volumeId, nodeId });
    const isSame = code === undefined && sameJson(body, attached);
    expect(
      isSame,
      `the attachment that followed a detach stays; the detach acts before its answer`,
      exchange,
    );
  };
}

async function createAgain(kit: Kit): Promise<Reading> {
  const { id } = await kit.createVolume();
  if (kit.has('expand'))
    await kit.done('expandVolume', { volumeId: id, body: { requiredBytes: kit.smallSize(3) } });
  for (let again = 0; again < 2; again++) await kit.done('deleteVolume', { volumeId: id });
  const made = await kit.createVolume({ requiredBytes: kit.smallSize(2) }, id);
  return () => kit.expectSame(made);
}

async function deleteAfterLoss(kit: Kit): Promise<Reading> {
  const volumeId = kit.id();
  const input = { volumeId, body: kit.specOf(volumeId) };
  await kit.lose('createVolume', input, { kind: 'cut-answer' });
  await kit.done('createVolume', input);
  await kit.done('deleteVolume', { volumeId });
  return () => kit.expectNoVolume(volumeId);
}

async function detachAfterLoss(kit: Kit): Promise<Reading> {
  const { id: volumeId } = await kit.createVolume();
  const nodeId = await kit.createNode();
  const input = { volumeId, nodeId, body: kit.accessOf() };
  await kit.lose('attachVolume', input, { kind: 'cut-answer' });
  await kit.done('attachVolume', input);
  await kit.done('detachVolume', { volumeId, nodeId });
  return async () => {
    const { attachments } = await kit.done('getVolume', { volumeId });
    expect(attachments.length === 0, 'a detached volume stays detached; attaching acts before its answer');
  };
}

async function snapshotAfterLoss(kit: Kit): Promise<Reading> {
  const { id: volumeId } = await kit.createVolume();
  const snapshotId = kit.id();
  const input = snapshotInput(snapshotId, volumeId);
  await kit.lose('createSnapshot', input, { kind: 'cut-answer' });
  await kit.done('createSnapshot', input);
  await kit.done('deleteSnapshot', { snapshotId });
  return () => kit.expectNoSnapshot(snapshotId);
}

async function changeTwice(kit: Kit): Promise<Reading> {
  const { id: volumeId } = await kit.createVolume();
  for (const input of modifications(kit, volumeId)) await kit.done('modifyVolume', input);
  for (const factor of kit.has('expand') ? [2, 3] : [])
    await kit.done('expandVolume', { volumeId, body: { requiredBytes: kit.smallSize(factor) } });
  const now = await kit.done('getVolume', { volumeId });
  return () => kit.expectSame(now);
}

async function snapshotAgain(kit: Kit): Promise<Reading> {
  const { id: volumeId } = await kit.createVolume();
  const snapshotId = kit.id();
  await kit.takeSnapshot(volumeId, snapshotId);
  for (let again = 0; again < 2; again++) await kit.done('deleteSnapshot', { snapshotId });
  await kit.done('createSnapshot', snapshotInput(snapshotId, volumeId));
  const made = await kit.untilReady(() => kit.done('getSnapshot', { snapshotId }));
  return async () => expectOne('snapshot', made, await kit.done('getSnapshot', { snapshotId }));
}

async function groupAgain(kit: Kit): Promise<Reading> {
  const volumes = [await kit.createVolume()];
  const { id: groupId } = await kit.createGroup(volumes);
  for (let again = 0; again < 2; again++) await kit.done('deleteGroup', { groupId });
  const made = await kit.createGroup(volumes, groupId);
  return async () => {
    const isSame = sameJson(await kit.done('getGroup', { groupId }), made);
    expect(isSame, 'the group that followed a deletion stays; the deletion acts before its answer');
  };
}

async function nodeAgain(kit: Kit): Promise<Reading> {
  const { id: volumeId } = await kit.createVolume();
  const nodeId = await kit.createNode();
  for (let again = 0; again < 2; again++) await kit.done('deleteNode', { nodeId });
  await kit.createNode(nodeId);
  return async () => void (await kit.attach(volumeId, nodeId));
}
