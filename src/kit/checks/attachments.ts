import type { AttachmentResource } from '../../api/node.ts';
import { accessModes } from '../../api/storage.ts';
import { sameJson } from '../../lib/json.ts';
import type { Checks } from '../check.ts';
import { expect, skip } from '../finding.ts';
import {
  accessOf,
  attach,
  detailOf,
  makeNode,
  makeVolume,
  takeSnapshot,
  capabilityOf,
} from '../fixtures/fixtures.ts';
import type { Kit } from '../fixtures/kit.ts';

const crowd = 6;

/** The checks of chapter 4. */
export const attachments: Checks = {
  async 'FL-4.1-1'(kit) {
    const nodeId = await makeNode(kit);
    const { id: volumeId, sizeBytes } = await makeVolume(kit);
    const { state, attachment } = await attach(kit, volumeId, nodeId);
    expect(state === 'attached' && attachment, 'state "attached", with an attachment');
    const { protocols } = kit.capabilities;
    const isNamed = protocols === undefined || protocols.includes(attachment.protocol);
    expect(
      isNamed,
      `a protocol of the capabilities (${protocols?.join(', ')}), not "${attachment.protocol}"`,
    );
    const found = attachment.sizeBytes;
    expect(found === sizeBytes, `the attachment has the ${sizeBytes} bytes of the volume, not ${found}`);
  },
  async 'FL-4.1-2'(kit) {
    const nodeId = await makeNode(kit);
    const { id: volumeId } = await makeVolume(kit);
    const first = await attach(kit, volumeId, nodeId);
    for (let again = 0; again < 3; again++) {
      const { status, body, exchange } = await kit.settle('attachVolume', {
        volumeId,
        nodeId,
        body: accessOf(kit),
      });
      expect(status === 200 && sameJson(body, first), '200 with the existing attachment', exchange);
    }
  },
  async 'FL-4.1-3'(kit) {
    const nodeId = await makeNode(kit);
    const { id: volumeId } = await makeVolume(kit);
    const first = await attach(kit, volumeId, nodeId);
    const capability = { ...capabilityOf(kit), mountFlags: ['noatime'] };
    for (const body of [accessOf(kit, { readonly: true }), accessOf(kit, { capability })])
      await kit.refused('attachVolume', { volumeId, nodeId, body }, ['ALREADY_EXISTS']);
    const now = await kit.done('getAttachment', { volumeId, nodeId });
    expect(sameJson(now, first), 'the attachment stays as it is');
  },
  async 'FL-4.1-4'(kit) {
    const nodeId = await makeNode(kit);
    const reader = kit.capabilities.accessModes.find(mode => mode.endsWith('_READER_ONLY'));
    const bodies = [
      accessOf(kit),
      accessOf(kit, { readonly: true }),
      ...(reader ? [accessOf(kit, { capability: capabilityOf(kit, reader) })] : []),
    ];
    for (const body of bodies) {
      const { id: volumeId } = await makeVolume(kit, { capabilities: [body.capability] });
      const { readonly, attachment } = await kit.done('attachVolume', { volumeId, nodeId, body });
      const wanted = body.readonly || body.capability.accessMode === reader;
      const isRight = readonly === wanted && attachment?.readonly === wanted;
      expect(isRight, `"readonly" is ${wanted}, in the resource and in its attachment`);
    }
  },
  async 'FL-4.1-5'(kit) {
    if (!kit.has('clone') && !kit.has('restore'))
      throw skip('the vendor offers neither "clone" nor "restore"');
    const nodeId = await makeNode(kit);
    const { id: volumeId } = await makeVolume(kit);
    const sources = [
      ...(kit.has('clone') ? [{ kind: 'volume', volumeId } as const] : []),
      ...(kit.has('restore')
        ? [{ kind: 'snapshot', snapshotId: (await takeSnapshot(kit, volumeId)).id } as const]
        : []),
    ];
    for (const source of sources) {
      const { id } = await makeVolume(kit, { source, requiredBytes: 0 });
      const { attachment } = await attach(kit, id, nodeId);
      expect(attachment?.mayFormat === false, `"mayFormat" is false for a volume made from a ${source.kind}`);
    }
  },
  async 'FL-4.1-6'(kit) {
    const nodeId = await makeNode(kit);
    const { id: volumeId } = await makeVolume(kit);
    const attached = await attach(kit, volumeId, nodeId);
    const read = await kit.done('getAttachment', { volumeId, nodeId });
    expect(sameJson(read, attached), 'reading the attachment gives the same as attaching');
    const { attachments: listed } = await kit.done('getVolume', { volumeId });
    const isListed = listed.length === 1 && listed[0]?.nodeId === nodeId && listed[0].state === 'attached';
    expect(isListed, `the volume lists its one attachment, to node "${nodeId}"`);
    await kit.refused('getAttachment', { volumeId, nodeId: kit.id() }, ['NOT_FOUND']);
  },
  async 'FL-4.1-7'(kit) {
    const nodeId = await makeNode(kit);
    await kit.refused('attachVolume', { volumeId: kit.id(), nodeId, body: accessOf(kit) }, ['NOT_FOUND']);
  },
  async 'FL-4.1-8'(kit) {
    const mode = accessModes.find(one => !kit.capabilities.accessModes.includes(one));
    if (!mode) throw skip('the vendor offers every access mode');
    const nodeId = await makeNode(kit);
    const { id: volumeId } = await makeVolume(kit);
    const body = accessOf(kit, { capability: capabilityOf(kit, mode) });
    await kit.refused('attachVolume', { volumeId, nodeId, body }, ['INVALID_ARGUMENT']);
    await kit.refused('getAttachment', { volumeId, nodeId }, ['NOT_FOUND']);
  },
  async 'FL-4.2-1'(kit) {
    const [holder, other] = [await makeNode(kit), await makeNode(kit)];
    const { id: volumeId } = await makeVolume(kit);
    const first = await attach(kit, volumeId, holder);
    await refuseOther(kit, volumeId, other);
    await kit.refused('getAttachment', { volumeId, nodeId: other }, ['NOT_FOUND']);
    const now = await kit.done('getAttachment', { volumeId, nodeId: holder });
    expect(sameJson(now, first), 'the node that has the volume keeps it');
  },
  async 'FL-4.2-2'(kit) {
    const nodes = await Promise.all(Array.from({ length: crowd }, () => makeNode(kit)));
    const { id: volumeId } = await makeVolume(kit);
    const calls = nodes.map(nodeId => kit.settle('attachVolume', { volumeId, nodeId, body: accessOf(kit) }));
    const won = (await Promise.all(calls)).filter(({ code }) => code === undefined);
    expect(won.length === 1, `one of ${crowd} nodes gets the volume, not ${won.length}`, won[1]?.exchange);
    const { attachments: listed } = await kit.done('getVolume', { volumeId });
    expect(listed.length === 1, `the volume lists one attachment, not ${listed.length}`);
  },
  async 'FL-4.2-3'(kit) {
    const mode = kit.capabilities.accessModes.find(one =>
      /^MULTI_NODE_(READER_ONLY|MULTI_WRITER)$/.test(one),
    );
    if (!mode) throw skip('the vendor offers no access mode for several nodes');
    const isWriter = mode.endsWith('MULTI_WRITER') && !kit.capabilities.areShares;
    const offered = capabilityOf(kit, mode);
    const capability = isWriter ? ({ ...offered, accessType: 'block' } as const) : offered;
    const { id: volumeId } = await makeVolume(kit, { capabilities: [capability] });
    const nodes = [await makeNode(kit), await makeNode(kit), await makeNode(kit)];
    for (const nodeId of nodes)
      await kit.done('attachVolume', { volumeId, nodeId, body: accessOf(kit, { capability }) });
    const { attachments: listed } = await kit.done('getVolume', { volumeId });
    expect(
      listed.length === nodes.length,
      `the volume lists ${nodes.length} attachments, not ${listed.length}`,
    );
  },
  async 'FL-4.2-4'(kit) {
    const [holder, other] = [await makeNode(kit), await makeNode(kit)];
    const { id: volumeId } = await makeVolume(kit);
    await attach(kit, volumeId, holder);
    const { exchange } = await refuseOther(kit, volumeId, other);
    const detail = detailOf(exchange);
    expect(detail.includes(holder), `the detail names node "${holder}"`, exchange);
  },
  async 'FL-4.3-1'(kit) {
    const [holder, other] = [await makeNode(kit), await makeNode(kit)];
    const { id: volumeId } = await makeVolume(kit);
    await attach(kit, volumeId, holder);
    await kit.done('detachVolume', { volumeId, nodeId: holder });
    await kit.refused('getAttachment', { volumeId, nodeId: holder }, ['NOT_FOUND']);
    const { attachments: listed } = await kit.done('getVolume', { volumeId });
    expect(listed.length === 0, 'the volume lists no attachment');
    await attach(kit, volumeId, other);
  },
  async 'FL-4.3-2'(kit) {
    const nodeId = await makeNode(kit);
    const { id: volumeId } = await makeVolume(kit);
    await attach(kit, volumeId, nodeId);
    for (const input of [
      { volumeId, nodeId },
      { volumeId, nodeId },
      { volumeId, nodeId: kit.id() },
      { volumeId: kit.id(), nodeId },
    ]) {
      const { status, exchange } = await kit.settle('detachVolume', input);
      expect(status === 204, '204, even if the volume is not attached', exchange);
    }
  },
  async 'FL-4.3-3'(kit) {
    const nodeId = await makeNode(kit);
    const { id: volumeId } = await makeVolume(kit);
    const first = attachmentIdOf(await attach(kit, volumeId, nodeId));
    await kit.done('detachVolume', { volumeId, nodeId });
    const second = attachmentIdOf(await attach(kit, volumeId, nodeId));
    expect(first !== second, `a new "attachmentId", not "${first}" again`);
  },
  async 'FL-4.4-1'(kit) {
    const { id: volumeId } = await makeVolume(kit);
    await kit.refused('attachVolume', { volumeId, nodeId: kit.id(), body: accessOf(kit) }, ['NOT_FOUND']);
  },
  async 'FL-4.4-2'(kit) {
    const nodeId = await makeNode(kit);
    for (let again = 0; again < 2; again++) await kit.done('putNode', { nodeId, body: {} });
    const { id: volumeId } = await makeVolume(kit);
    await attach(kit, volumeId, nodeId);
    await kit.refused('deleteNode', { nodeId }, ['FAILED_PRECONDITION']);
    await kit.done('detachVolume', { volumeId, nodeId });
    for (let again = 0; again < 2; again++) await kit.done('deleteNode', { nodeId });
  },
};

function refuseOther(kit: Kit, volumeId: string, nodeId: string) {
  const input = { volumeId, nodeId, body: accessOf(kit) };
  return kit.refused('attachVolume', input, ['FAILED_PRECONDITION']);
}

function attachmentIdOf({ attachment }: AttachmentResource): string | undefined {
  return attachment?.attachmentId;
}
