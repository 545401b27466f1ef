import { isSameReach } from '../../api/attachment.ts';
import type { AttachmentSpec } from '../../api/node.ts';
import { accessModes, isForReaders } from '../../api/storage.ts';
import { sameJson } from '../../lib/json.ts';
import { expect, skip } from '../finding.ts';
import { holdTogether } from '../fixtures/barrier.ts';
import { modifications } from '../fixtures/mutations.ts';
import { createCopies, createFilledVolumes, requireSources } from '../fixtures/sources.ts';
import { singleModes } from './sharing.ts';
import { must, type Chapter } from '../requirement.ts';

const crowd = 4;

/** The requirements of chapter 4, sections 1 and 3. */
export const attachments = {
  'FL-4.1-1': must(
    "Attaching answers `attached` with a complete attachment of a protocol in the capabilities, and with the volume's size.",
  ).check(async kit => {
    const nodeId = await kit.createNode();
    const { id: volumeId, sizeBytes } = await kit.createVolume();
    const { state, attachment } = await kit.attach(volumeId, nodeId);
    expect(state === 'attached' && attachment, 'state "attached", with an attachment');
    const { protocols } = kit.capabilities;
    const isNamed = protocols === undefined || protocols.includes(attachment.protocol);
    expect(
      isNamed,
      `a protocol of the capabilities (${protocols?.join(', ')}), not "${attachment.protocol}"`,
    );
    const found = attachment.sizeBytes;
    expect(found === sizeBytes, `the attachment has the ${sizeBytes} bytes of the volume, not ${found}`);
  }),
  'FL-4.1-2': must(
    'A repeated request answers 200 with the same attachment, including its `attachmentId`.',
  ).check(async kit => {
    const first = await kit.createAttachment();
    const { volumeId, nodeId } = first;
    for (let again = 0; again < 3; again++) {
      const { status, body, exchange } = await kit.settle('attachVolume', {
        volumeId,
        nodeId,
        body: kit.accessOf(),
      });
      expect(status === 200 && sameJson(body, first), '200 with the existing attachment', exchange);
    }
  }),
  'FL-4.1-3': must(
    'A request for the same volume and node with another capability or `readonly` is ALREADY_EXISTS, and the attachment does not change.',
  ).check(async kit => {
    const { accessTypes } = kit.capabilities;
    const usual = kit.capabilityOf();
    const others = [
      ...singleModes(kit).map(accessMode => ({ accessType: usual.accessType, accessMode })),
      ...accessTypes.map(accessType => ({ accessType, accessMode: usual.accessMode })),
    ].filter(one => !sameJson(one, usual));
    const { id: volumeId } = await kit.createVolume({ capabilities: [usual, ...others] });
    const nodeId = await kit.createNode();
    const first = await kit.attach(volumeId, nodeId);
    const changed = [...others, { ...usual, mountFlags: ['noatime'] }];
    const bodies = changed.map(capability => kit.accessOf({ capability }));
    // For an access mode without writers both values of `readonly` are one request.
    const reading = kit.canWrite() ? [kit.accessOf({ readonly: true })] : [];
    for (const body of [...reading, ...bodies])
      await kit.refused('attachVolume', { volumeId, nodeId, body }, ['ALREADY_EXISTS']);
    const now = await kit.done('getAttachment', { volumeId, nodeId });
    expect(sameJson(now, first), 'the attachment stays as it is');
  }),
  'FL-4.1-4': must(
    '`readonly` has the requested value, whatever it was before a detach, and is always true for an access mode without writers.',
  ).check(async kit => {
    const nodeId = await kit.createNode();
    const { id: used } = await kit.createVolume();
    for (const readonly of [true, false, true]) {
      const body = kit.accessOf({ readonly });
      const found = await kit.done('attachVolume', { volumeId: used, nodeId, body });
      const wanted = isReadonly(body);
      const isSame = found.readonly === wanted && found.attachment?.readonly === wanted;
      expect(isSame, `"readonly" is ${wanted}, not as in the attachment before`);
      await kit.done('detachVolume', { volumeId: used, nodeId });
    }
    const reader = kit.capabilities.accessModes.find(accessMode => isForReaders({ accessMode }));
    const bodies = [
      kit.accessOf(),
      kit.accessOf({ readonly: true }),
      ...(reader ? [kit.accessOf({ capability: kit.capabilityOf(reader) })] : []),
    ];
    for (const body of bodies) {
      const { id: volumeId } = await kit.createVolume({ capabilities: [body.capability] });
      const { readonly, attachment } = await kit.done('attachVolume', { volumeId, nodeId, body });
      const wanted = isReadonly(body);
      const isRight = readonly === wanted && attachment?.readonly === wanted;
      expect(isRight, `"readonly" is ${wanted}, in the resource and in its attachment`);
    }
  }),
  'FL-4.1-5': must(
    '`mayFormat` is false for a volume that was made from a volume or a snapshot, also from one of a group, and for its copies.',
  ).check(async kit => {
    const nodeId = await kit.createNode();
    const volume = await kit.createVolume();
    const sources = [...(await requireSources(kit, volume.id))];
    if (kit.has('groups') && kit.has('restore'))
      for (const { id: snapshotId } of (await kit.createGroup([volume])).snapshots)
        sources.push({ kind: 'snapshot', snapshotId });
    for (const source of sources) {
      const { id } = await kit.createVolume({ source, requiredBytes: 0 });
      for (const volumeId of [id, ...(await createCopies(kit, id))])
        for (let again = 0; again < 2; again++) {
          const { attachment } = await kit.attach(volumeId, nodeId);
          const expected = `"mayFormat" is false for a volume made from a ${source.kind}, and for its copies`;
          expect(attachment?.mayFormat === false, expected);
          await kit.done('detachVolume', { volumeId, nodeId });
        }
    }
  }),
  'FL-4.1-6': must(
    'Reading an attachment gives the same as attaching, and the volume lists it; reading a missing attachment is NOT_FOUND.',
  ).check(async kit => {
    const attached = await kit.createAttachment();
    const { volumeId, nodeId } = attached;
    const read = await kit.done('getAttachment', { volumeId, nodeId });
    expect(sameJson(read, attached), 'reading the attachment gives the same as attaching');
    const { attachments: listed } = await kit.done('getVolume', { volumeId });
    const isListed = listed.length === 1 && listed[0]?.nodeId === nodeId && listed[0].state === 'attached';
    expect(isListed, `the volume lists its one attachment, to node "${nodeId}"`);
    await kit.refused('getAttachment', { volumeId, nodeId: kit.id() }, ['NOT_FOUND']);
  }),
  'FL-4.1-7': must('Attaching a missing volume is NOT_FOUND.').check(async kit => {
    const nodeId = await kit.createNode();
    await kit.refused('attachVolume', { volumeId: kit.id(), nodeId, body: kit.accessOf() }, ['NOT_FOUND']);
  }),
  'FL-4.1-8': must('A capability that is not offered is INVALID_ARGUMENT, and attaches nothing.').check(
    async kit => {
      const mode = accessModes.find(one => !kit.capabilities.accessModes.includes(one));
      if (!mode) throw skip('the vendor offers every access mode');
      const nodeId = await kit.createNode();
      const { id: volumeId } = await kit.createVolume();
      const body = kit.accessOf({ capability: kit.capabilityOf(mode) });
      await kit.refused('attachVolume', { volumeId, nodeId, body }, ['INVALID_ARGUMENT']);
      await kit.refused('getAttachment', { volumeId, nodeId }, ['NOT_FOUND']);
    },
  ),
  'FL-4.1-9': must(
    '`mayFormat` is false once the volume was attached for writing with access type `block`.',
  ).check(async kit => {
    const raw = kit.rawCapability();
    if (!raw) throw skip('the vendor does not offer both access types for writing');
    const { id: volumeId } = await kit.createVolume({ capabilities: [kit.capabilityOf(), raw] });
    const nodes = [await kit.createNode(), await kit.createNode()];
    for (const nodeId of nodes) {
      await kit.done('attachVolume', { volumeId, nodeId, body: kit.accessOf({ capability: raw }) });
      await kit.done('detachVolume', { volumeId, nodeId });
    }
    for (const nodeId of nodes) {
      const { attachment } = await kit.attach(volumeId, nodeId);
      expect(attachment?.mayFormat === false, '"mayFormat" is false after a raw attach for writing');
      await kit.done('detachVolume', { volumeId, nodeId });
    }
  }),
  'FL-4.1-11': must('`mayFormat` stays false when the volume is modified, expanded or copied.').check(
    async kit => {
      const filled = await createFilledVolumes(kit);
      if (filled.length === 0) throw skip('the vendor offers no volumes that may not be formatted');
      const nodeId = await kit.createNode();
      for (const volumeId of filled) {
        for (const input of modifications(kit, volumeId)) await kit.done('modifyVolume', input);
        if (kit.has('expand'))
          await kit.done('expandVolume', { volumeId, body: { requiredBytes: kit.smallSize(2) } });
        await createCopies(kit, volumeId);
        const { attachment } = await kit.attach(volumeId, nodeId);
        expect(attachment?.mayFormat === false, `"mayFormat" of "${volumeId}" stays false`);
      }
    },
  ),
  'FL-4.1-12': must(
    'Volumes that are attached to a node at the same time are reached in different ways.',
  ).check(async kit => {
    const nodeId = await kit.createNode();
    const volumes = [];
    for (let made = 0; made < crowd; made++) volumes.push(await kit.createVolume());
    const network = holdTogether(crowd);
    const calls = volumes.map(({ id: volumeId }) =>
      kit.done('attachVolume', { volumeId, nodeId, body: kit.accessOf() }, { network }),
    );
    const all = await Promise.all(calls);
    for (const [index, one] of all.entries()) {
      const { volumeId, attachment } = one;
      expect(attachment, `an attachment of volume "${volumeId}"`);
      const before = all.slice(0, index);
      const twin = before.find(other => other.attachment && isSameReach(other.attachment, attachment));
      expect(!twin, `a way of its own to volume "${volumeId}", not the way to "${twin?.volumeId}"`);
      const now = await kit.done('getAttachment', { volumeId, nodeId });
      expect(sameJson(now, one), 'reading the attachment gives the same as attaching');
    }
  }),
  'FL-4.3-1': must(
    'Detaching answers 204, or 202 until it is done; then the attachment is NOT_FOUND and another node can attach the volume.',
  ).check(async kit => {
    const { volumeId, nodeId: holder } = await kit.createAttachment();
    const other = await kit.createNode();
    await kit.done('detachVolume', { volumeId, nodeId: holder });
    await kit.refused('getAttachment', { volumeId, nodeId: holder }, ['NOT_FOUND']);
    const { attachments: listed } = await kit.done('getVolume', { volumeId });
    expect(listed.length === 0, 'the volume lists no attachment');
    await kit.attach(volumeId, other);
  }),
  'FL-4.3-2': must(
    'Detaching a volume that is missing, or not attached to the node, answers 204 and leaves other nodes their attachments.',
  ).check(async kit => {
    const first = await kit.createAttachment();
    const { volumeId, nodeId } = first;
    const other = await kit.createNode();
    for (const input of [
      { volumeId, nodeId: other },
      { volumeId, nodeId: kit.id() },
      { volumeId: kit.id(), nodeId },
    ]) {
      await kit.done('detachVolume', input);
      const { code, body, exchange } = await kit.settle('getAttachment', { volumeId, nodeId });
      const isSame = code === undefined && sameJson(body, first);
      expect(isSame, `node "${nodeId}" keeps volume "${volumeId}" when another one is detached`, exchange);
    }
    for (let again = 0; again < 2; again++) await kit.done('detachVolume', { volumeId, nodeId });
  }),
  'FL-4.3-3': must('Attaching again after detaching gives a new `attachmentId`.').check(async kit => {
    const first = await kit.createAttachment();
    const { volumeId, nodeId } = first;
    await kit.done('detachVolume', { volumeId, nodeId });
    await kit.refused('getAttachment', { volumeId, nodeId }, ['NOT_FOUND']);
    const second = await kit.attach(volumeId, nodeId);
    const [before, now] = [first, second].map(({ attachment }) => attachment?.attachmentId);
    expect(before !== now, `a new "attachmentId", not "${before}" again`);
  }),
} satisfies Chapter;

function isReadonly({ readonly, capability }: AttachmentSpec): boolean {
  return readonly || isForReaders(capability);
}
