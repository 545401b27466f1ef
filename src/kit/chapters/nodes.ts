import { byteLength } from '../../api/ids.ts';
import { limits } from '../../api/limits.ts';
import { sameJson } from '../../lib/json.ts';
import { expect } from '../finding.ts';
import { must, type Chapter } from '../requirement.ts';
import { refuseOther } from './sharing.ts';

/** The requirements of chapter 4, section 4. */
export const nodes = {
  'FL-4.4-1': must('Attaching to a node that is not recorded is NOT_FOUND.', 'nodes').check(async kit => {
    const { id: volumeId } = await kit.createVolume();
    const nodeId = await kit.createNode();
    await kit.done('deleteNode', { nodeId });
    for (const missing of [kit.id(), nodeId])
      await kit.refused('attachVolume', { volumeId, nodeId: missing, body: kit.accessOf() }, ['NOT_FOUND']);
  }),
  'FL-4.4-2': must(
    'Recording and deleting a node can be repeated; a node that is recorded again keeps its volumes, and deleting a node with an attached volume is FAILED_PRECONDITION.',
    'nodes',
  ).check(async kit => {
    const nodeId = await kit.createNode();
    for (let again = 0; again < 2; again++) await kit.done('putNode', { nodeId, body: {} });
    const { id: volumeId } = await kit.createVolume();
    const attached = await kit.attach(volumeId, nodeId);
    const requireKept = async (): Promise<void> => {
      const now = await kit.done('getAttachment', { volumeId, nodeId });
      expect(sameJson(now, attached), 'a node that is recorded again, or not deleted, keeps its volume');
    };
    await kit.createNode(nodeId);
    await requireKept();
    await kit.refused('deleteNode', { nodeId }, ['FAILED_PRECONDITION']);
    await requireKept();
    await kit.done('detachVolume', { volumeId, nodeId });
    const others = similarNodes(nodeId);
    for (const other of others) await kit.createNode(other);
    for (let again = 0; again < 2; again++) await kit.done('deleteNode', { nodeId });
    for (const other of others) {
      await kit.attach(volumeId, other);
      await kit.done('detachVolume', { volumeId, nodeId: other });
    }
  }),
  'FL-4.4-3': must(
    "A node's id is any text of up to 256 bytes without control characters, and ids that differ in one byte are different nodes.",
  ).check(async kit => {
    const own = `${kit.id()}.Node~aZ_1`;
    const long = own.padEnd(limits.nodeIdBytes.max, 'x');
    for (const holder of [own, long, `${own} %41/é `]) {
      const nodeId = await kit.createNode(holder);
      const { id: volumeId } = await kit.createVolume();
      const first = await kit.attach(volumeId, nodeId);
      for (const other of similarNodes(holder)) {
        await kit.createNode(other);
        if (kit.isExclusive()) await refuseOther(kit, volumeId, other);
        await kit.refused('getAttachment', { volumeId, nodeId: other }, ['NOT_FOUND']);
        await kit.done('detachVolume', { volumeId, nodeId: other });
      }
      const now = await kit.done('getAttachment', { volumeId, nodeId });
      expect(sameJson(now, first), `node "${holder}" keeps its attachment`);
    }
  }),
} satisfies Chapter;

/** Makes ids of other nodes: in another case, shorter, longer, with another last character, and decoded otherwise. */
function similarNodes(id: string): readonly string[] {
  return [
    id.toUpperCase(),
    id.toLowerCase(),
    id.slice(0, -1),
    `${id.slice(0, -1)}y`,
    `${id}0`,
    id.replaceAll(' ', '+'),
    id.replace('%41', 'A'),
    id.normalize('NFD'),
    id.replace('_', 'x'),
  ].filter(one => one !== id && byteLength(one) <= limits.nodeIdBytes.max);
}
