import type { Volume } from '../../api/volume.ts';
import { sameJson } from '../../lib/json.ts';
import { expect } from '../finding.ts';
import { expectOne, nameOf } from '../fixtures/fixtures.ts';
import type { Kit } from '../fixtures/kit.ts';
import { mutableOf } from '../fixtures/mutations.ts';
import { similarIds } from '../fixtures/similar.ts';
import { leaveShared } from './sharing.ts';
import { must, type Chapter } from '../requirement.ts';

/** The requirements that a call leaves resources with similar ids alone. */
export const isolation = {
  'FL-3.4-4': must(
    'Deleting a volume deletes nothing else: no volume, snapshot or attachment whose id contains its id or is like it, and no volume with its name.',
  ).check(async kit => {
    const [id, others] = similarIds(kit);
    const volumes = [];
    for (const other of others) volumes.push(await kit.createVolume({}, other));
    volumes.push(await kit.createVolume({ name: nameOf(id) }));
    await kit.createVolume({}, id);
    const nodeId = await kit.createNode();
    const attached = [];
    for (const volume of volumes) attached.push(await kit.attach(volume.id, nodeId));
    const source = await kit.createVolume();
    const snapshot = kit.has('snapshots') ? await kit.takeSnapshot(source.id, id) : undefined;
    await kit.done('deleteVolume', { volumeId: id });
    for (const volume of volumes) await kit.expectSame(volume);
    await requireAttachments(kit, attached, `deleting volume "${id}"`);
    if (snapshot) expectOne('snapshot', snapshot, await kit.done('getSnapshot', { snapshotId: id }));
  }),
  'FL-3.5-6': must(
    'Expanding a volume changes no other volume, even one whose id is like it.',
    'expand',
  ).check(async kit => {
    const { id: volumeId, expectOthers } = await createSimilar(kit);
    await kit.done('expandVolume', { volumeId, body: { requiredBytes: kit.smallSize(2) } });
    await expectOthers();
  }),
  'FL-3.6-4': must(
    'Modifying a volume changes no other volume, even one whose id is like it.',
    'modify',
  ).check(async kit => {
    const { name, values } = mutableOf(kit);
    const { id: volumeId, expectOthers } = await createSimilar(kit);
    await kit.done('modifyVolume', { volumeId, body: { mutableParameters: { [name]: values[0] ?? '' } } });
    await expectOthers();
  }),
  'FL-4.1-10': must('Attaching a volume attaches no other volume, even one whose id is like it.').check(
    async kit => {
      const { id, expectOthers } = await createSimilar(kit);
      await kit.attach(id, await kit.createNode());
      await expectOthers();
    },
  ),
  'FL-4.3-4': must(
    'Detaching a volume from a node closes no attachment of another volume, and none to another node, even one with a similar id.',
  ).check(async kit => {
    const [id, others] = similarIds(kit);
    const nodeId = await kit.createNode();
    const { id: volumeId } = await kit.createVolume({}, id);
    await kit.attach(volumeId, nodeId);
    const kept = [];
    for (const other of others) {
      await kit.createVolume({}, other);
      kept.push(await kit.attach(other, nodeId));
    }
    const { id: elsewhere } = await kit.createVolume();
    kept.push(await kit.attach(elsewhere, await kit.createNode(`${nodeId}0`)));
    kept.push(...(await leaveShared(kit)));
    await kit.done('detachVolume', { volumeId, nodeId });
    await requireAttachments(kit, kept, 'detaching other volumes and other nodes');
  }),
  'FL-5.2-3': must(
    'Deleting a snapshot deletes nothing else: no snapshot or volume whose id contains its id or is like it, and no snapshot with its name.',
    'snapshots',
  ).check(async kit => {
    const [id, others] = similarIds(kit);
    const volume = await kit.createVolume({}, id);
    const snapshots = [];
    for (const other of others) snapshots.push(await kit.takeSnapshot(volume.id, other));
    snapshots.push(await kit.takeSnapshot(volume.id, kit.id(), nameOf(id)));
    await kit.takeSnapshot(volume.id, id);
    await kit.done('deleteSnapshot', { snapshotId: id });
    for (const snapshot of snapshots)
      expectOne('snapshot', snapshot, await kit.done('getSnapshot', { snapshotId: snapshot.id }));
    await kit.expectSame(volume);
  }),
  'FL-5.4-6': must(
    'Deleting a group deletes nothing else: no group or snapshot whose id contains its id or is like it.',
    'groups',
  ).check(async kit => {
    const [id, others] = similarIds(kit);
    const volume = await kit.createVolume();
    const groups = [];
    for (const other of others) groups.push(await kit.createGroup([volume], other));
    const snapshots = [await kit.takeSnapshot(volume.id, id), await kit.takeSnapshot(volume.id, `${id}-a`)];
    await kit.createGroup([volume], id);
    await kit.done('deleteGroup', { groupId: id });
    for (const group of groups) {
      const now = await kit.done('getGroup', { groupId: group.id });
      expect(sameJson(now, group), `group "${group.id}" stays as it is when group "${id}" is deleted`);
    }
    for (const one of [...snapshots, ...groups.flatMap(group => group.snapshots)])
      expectOne('snapshot', one, await kit.done('getSnapshot', { snapshotId: one.id }));
  }),
} satisfies Chapter;

/** Creates a volume and others whose ids are like its id; `expectOthers` throws a fault if one of these has changed. */
async function createSimilar(kit: Kit) {
  const [id, others] = similarIds(kit);
  const volumes: Volume[] = [];
  for (const other of others) volumes.push(await kit.createVolume({}, other));
  await kit.createVolume({}, id);
  const expectOthers = async (): Promise<void> => {
    for (const volume of volumes) {
      await kit.expectSame(volume);
      const { attachments } = await kit.done('getVolume', { volumeId: volume.id });
      expect(attachments.length === 0, `volume "${volume.id}" stays detached`);
    }
  };
  return { id, expectOthers };
}

async function requireAttachments(
  kit: Kit,
  all: readonly { readonly volumeId: string; readonly nodeId: string }[],
  after: string,
): Promise<void> {
  for (const one of all) {
    const { volumeId, nodeId } = one;
    const { code, body, exchange } = await kit.settle('getAttachment', { volumeId, nodeId });
    const isSame = code === undefined && sameJson(body, one);
    expect(isSame, `volume "${volumeId}" stays attached to node "${nodeId}" after ${after}`, exchange);
  }
}
