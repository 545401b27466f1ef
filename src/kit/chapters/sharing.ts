import type { AttachmentResource, AttachmentSpec } from '../../api/node.ts';
import { isForReaders, type AccessMode, type Capability } from '../../api/storage.ts';
import { sameJson } from '../../lib/json.ts';
import { expect, skip } from '../finding.ts';
import { holdTogether } from '../fixtures/barrier.ts';
import { problemOf } from '../fixtures/fixtures.ts';
import type { Kit } from '../fixtures/kit.ts';
import type { InputOf } from '../http/calls.ts';
import { must, should, type Chapter } from '../requirement.ts';

const crowd = 6;
/** A race may end well by chance. */
const races = 3;

/** The requirements of chapter 4, section 2. */
export const sharing = {
  'FL-4.2-1': must(
    'While a single-node volume is attached, attaching it to another node is FAILED_PRECONDITION, also for reading.',
  ).check(async kit => {
    const [holder, other] = [await kit.createNode(), await kit.createNode()];
    const modes = singleModes(kit);
    if (modes.length === 0) throw skip('the vendor offers no access mode for one node');
    const capabilities = modes.map(mode => kit.capabilityOf(mode));
    // A reader is a second node too, as is a writer beside a reader.
    const bodies = capabilities.flatMap(capability => [
      kit.accessOf({ capability }),
      kit.accessOf({ capability, readonly: true }),
    ]);
    for (const held of [bodies[0], bodies[1]]) {
      if (!held) continue;
      const { id: volumeId } = await kit.createVolume({ capabilities });
      await requireHeld(kit, { volumeId, nodeId: holder, body: held }, { other, bodies });
      const { attachments: listed } = await kit.done('getVolume', { volumeId });
      expect(listed.length === 0, 'a refused node does not get the volume once it is free');
    }
  }),
  'FL-4.2-2': must(
    'If many nodes request a volume for one node or for one writer at once, exactly one gets it.',
  ).check(async kit => {
    const { accessModes } = kit.capabilities;
    const usual = kit.isExclusive() ? [kit.capabilityOf().accessMode] : [];
    const modes = new Set([...usual, ...accessModes.filter(mode => mode === oneWriter)]);
    const capabilities = [...modes].map(mode => kit.capabilityOf(mode));
    if (capabilities.length === 0) throw skip('the vendor offers no access mode for one node or one writer');
    const nodes = await Promise.all(Array.from({ length: crowd }, () => kit.createNode()));
    for (const capability of capabilities.flatMap(one => Array.from({ length: races }, () => one))) {
      const { id: volumeId } = await kit.createVolume({ capabilities: [capability] });
      const [body, network] = [kit.accessOf({ capability }), holdTogether(crowd)];
      const calls = nodes.map(nodeId => kit.settle('attachVolume', { volumeId, nodeId, body }, { network }));
      const won = (await Promise.all(calls)).filter(({ code }) => code === undefined);
      expect(won.length === 1, `one of ${crowd} nodes gets the volume, not ${won.length}`, won[1]?.exchange);
      const { attachments: listed } = await kit.done('getVolume', { volumeId });
      expect(listed.length === 1, `the volume lists one attachment, not ${listed.length}`);
    }
  }),
  'FL-4.2-3': must(
    'A volume with an access mode for several nodes can be attached to several, each with an `attachmentId` of its own, if such a mode is offered.',
  ).check(async kit => {
    const capabilities = sharedCapabilities(kit);
    if (capabilities.length === 0) throw skip('the vendor offers no access mode for several nodes');
    for (const capability of capabilities) {
      const { volumeId, nodes } = await shareVolume(kit, capability);
      const { attachments: listed } = await kit.done('getVolume', { volumeId });
      expect(
        listed.length === nodes.length,
        `the volume lists ${nodes.length} attachments, not ${listed.length}`,
      );
      const ids = nodes.map(({ attachment }) => attachment?.attachmentId);
      expect(
        new Set(ids).size === nodes.length,
        `each node has an "attachmentId" of its own: ${ids.join(', ')}`,
      );
    }
  }),
  'FL-4.2-4': should('The FAILED_PRECONDITION for another node names the node that has the volume.').check(
    async kit => {
      if (!kit.isExclusive()) throw skip('the vendor offers no access mode for one node or one writer');
      const [holder, other] = [await kit.createNode(), await kit.createNode()];
      const { id: volumeId } = await kit.createVolume();
      await kit.attach(volumeId, holder);
      const { exchange } = await refuseOther(kit, volumeId, other);
      const { detail } = problemOf(exchange);
      expect(detail.includes(holder), `the detail names node "${holder}"`, exchange);
    },
  ),
  'FL-4.2-5': must(
    'Two nodes write to a volume at a time only if both have MULTI_NODE_MULTI_WRITER: any other second writer is FAILED_PRECONDITION.',
  ).check(async kit => {
    const shared = sharedCapabilities(kit).filter(isWriting);
    const writing = [
      ...shared,
      ...singleModes(kit)
        .map(mode => kit.capabilityOf(mode))
        .filter(isWriting),
    ];
    const isClash = (one: Capability, other: Capability): boolean =>
      [one, other].some(each => shared.includes(each)) &&
      [one, other].some(({ accessMode }) => accessMode !== manyWriters);
    if (!writing.some(one => writing.some(other => isClash(one, other))))
      throw skip('the vendor offers no access mode for several nodes with one writer');
    const [holder, other] = [await kit.createNode(), await kit.createNode()];
    for (const held of writing) {
      const { id: volumeId } = await kit.createVolume({ capabilities: writing });
      const clashing = writing.filter(one => isClash(held, one));
      const bodies = clashing.map(capability => kit.accessOf({ capability }));
      const input = { volumeId, nodeId: holder, body: kit.accessOf({ capability: held }) };
      await requireHeld(kit, input, { other, bodies });
    }
  }),
} satisfies Chapter;

const oneWriter: AccessMode = 'MULTI_NODE_SINGLE_WRITER';
const manyWriters: AccessMode = 'MULTI_NODE_MULTI_WRITER';

/** Lists the offered access modes for one node. */
export function singleModes({ capabilities }: Kit): readonly AccessMode[] {
  return capabilities.accessModes.filter(mode => mode.startsWith('SINGLE_NODE_'));
}

/** Requires that the other node gets the volume by none of the requests while its holder has it. Detaches the volume. */
async function requireHeld(
  kit: Kit,
  input: InputOf<'attachVolume'>,
  { other, bodies }: { readonly other: string; readonly bodies: readonly AttachmentSpec[] },
): Promise<void> {
  const { volumeId, nodeId } = input;
  const first = await kit.done('attachVolume', input);
  for (const body of bodies) {
    await kit.refused('attachVolume', { volumeId, nodeId: other, body }, ['FAILED_PRECONDITION']);
    await kit.refused('getAttachment', { volumeId, nodeId: other }, ['NOT_FOUND']);
  }
  const now = await kit.done('getAttachment', { volumeId, nodeId });
  expect(sameJson(now, first), 'the node that has the volume keeps it');
  await kit.done('detachVolume', { volumeId, nodeId });
}

function isWriting(capability: Capability): boolean {
  return !isForReaders(capability);
}

/**
 * Lists the offered capabilities for several nodes. Several nodes write to shares and to block devices only, since they would
 * break the filesystem of a device.
 */
function sharedCapabilities(kit: Kit): readonly Capability[] {
  const { accessModes, accessTypes, areShares = false } = kit.capabilities;
  return accessModes
    .filter(mode => mode.startsWith('MULTI_NODE_'))
    .filter(mode => mode !== manyWriters || areShares || accessTypes.includes('block'))
    .map(mode => {
      const accessType = mode === manyWriters && !areShares ? 'block' : kit.capabilityOf(mode).accessType;
      return { accessType, accessMode: mode };
    });
}

/** A volume and the nodes that have it. */
type SharedVolume = { readonly volumeId: string; readonly nodes: readonly AttachmentResource[] };

/** Attaches a new volume to several nodes. One of them writes if the mode is for one writer. */
async function shareVolume(kit: Kit, capability: Capability): Promise<SharedVolume> {
  const { id: volumeId } = await kit.createVolume({ capabilities: [capability] });
  const nodes = [];
  for (const isWriter of [false, true, false]) {
    const readonly = capability.accessMode === oneWriter && !isWriter;
    const body = kit.accessOf({ capability, readonly });
    nodes.push(await kit.done('attachVolume', { volumeId, nodeId: await kit.createNode(), body }));
  }
  return { volumeId, nodes };
}

/**
 * Attaches a volume of each mode for several nodes to several, and detaches one of these, in turn. Returns the attachments of
 * the others.
 */
export async function leaveShared(kit: Kit): Promise<readonly AttachmentResource[]> {
  const left = [];
  for (const [index, capability] of sharedCapabilities(kit).entries()) {
    const { volumeId, nodes } = await shareVolume(kit, capability);
    const { nodeId = '' } = nodes[index % nodes.length] ?? {};
    await kit.done('detachVolume', { volumeId, nodeId });
    left.push(...nodes.filter(one => one.nodeId !== nodeId));
  }
  return left;
}

/** Requires that another node does not get the attached volume. */
export function refuseOther(kit: Kit, volumeId: string, nodeId: string) {
  const input = { volumeId, nodeId, body: kit.accessOf() };
  return kit.refused('attachVolume', input, ['FAILED_PRECONDITION']);
}
