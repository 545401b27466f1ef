import type { OperationId } from '../../../api/operations.ts';
import { expect } from '../finding.ts';
import {
  accessOf,
  attach,
  expectNoVolume,
  listAll,
  makeNode,
  makeVolume,
  nameOf,
  smallSize,
  specOf,
  takeSnapshot,
  untilReady,
} from './fixtures.ts';
import { makeGroup } from '../checks/groups.ts';
import { mutableOf } from '../checks/changes.ts';
import type { Kit } from './kit.ts';
import type { AnyInput } from '../http/wire.ts';

/** A call that changes something, all that it needs being there. */
export type Mutation = {
  readonly operation: OperationId;
  readonly input: AnyInput;
  /** A fault unless the vendor is as the call, done once, leaves it. */
  readonly verify: () => Promise<unknown>;
};

type Prepare = (kit: Kit) => Promise<Mutation>;

/** Every call of the profile that changes something, by its operation. */
export const mutations = {
  async createVolume(kit) {
    const volumeId = kit.id();
    return {
      operation: 'createVolume',
      input: { volumeId, body: specOf(kit, volumeId) },
      verify: () => expectOnce(kit, 'listVolumes', volumeId),
    };
  },
  async deleteVolume(kit) {
    const { id: volumeId } = await makeVolume(kit);
    return { operation: 'deleteVolume', input: { volumeId }, verify: () => expectNoVolume(kit, volumeId) };
  },
  async attachVolume(kit) {
    const [nodeId, other] = [await makeNode(kit), await makeNode(kit)];
    const { id: volumeId } = await makeVolume(kit);
    return {
      operation: 'attachVolume',
      input: { volumeId, nodeId, body: accessOf(kit) },
      async verify() {
        const { state } = await kit.done('getAttachment', { volumeId, nodeId });
        const { attachments } = await kit.done('getVolume', { volumeId });
        expect(state === 'attached' && attachments.length === 1, 'the volume has the one attachment');
        await kit.refused('attachVolume', { volumeId, nodeId: other, body: accessOf(kit) }, [
          'FAILED_PRECONDITION',
        ]);
      },
    };
  },
  async detachVolume(kit) {
    const [nodeId, other] = [await makeNode(kit), await makeNode(kit)];
    const { id: volumeId } = await makeVolume(kit);
    await attach(kit, volumeId, nodeId);
    return {
      operation: 'detachVolume',
      input: { volumeId, nodeId },
      async verify() {
        await kit.refused('getAttachment', { volumeId, nodeId }, ['NOT_FOUND']);
        await attach(kit, volumeId, other);
      },
    };
  },
  async expandVolume(kit) {
    const { id: volumeId } = await makeVolume(kit);
    const wanted = smallSize(kit, 2);
    return {
      operation: 'expandVolume',
      input: { volumeId, body: { requiredBytes: wanted, limitBytes: wanted } },
      async verify() {
        const { sizeBytes, state } = await kit.done('getVolume', { volumeId });
        expect(state === 'ready' && sizeBytes === wanted, `the volume has ${wanted} bytes, not ${sizeBytes}`);
      },
    };
  },
  async modifyVolume(kit) {
    const { name, values } = mutableOf(kit);
    const { id: volumeId } = await makeVolume(kit);
    const value = values[0] ?? '';
    return {
      operation: 'modifyVolume',
      input: { volumeId, body: { mutableParameters: { [name]: value } } },
      async verify() {
        const { mutableParameters } = await kit.done('getVolume', { volumeId });
        expect(mutableParameters?.[name] === value, `mutable parameter "${name}" is "${value}"`);
      },
    };
  },
  async createSnapshot(kit) {
    const { id: volumeId } = await makeVolume(kit);
    const snapshotId = kit.id();
    return {
      operation: 'createSnapshot',
      input: { snapshotId, body: { name: nameOf(snapshotId), volumeId } },
      async verify() {
        await untilReady(kit, () => kit.done('getSnapshot', { snapshotId }));
        await expectOnce(kit, 'listSnapshots', snapshotId);
      },
    };
  },
  async deleteSnapshot(kit) {
    const { id: volumeId } = await makeVolume(kit);
    const { id: snapshotId } = await takeSnapshot(kit, volumeId);
    return {
      operation: 'deleteSnapshot',
      input: { snapshotId },
      verify: () => kit.refused('getSnapshot', { snapshotId }, ['NOT_FOUND']),
    };
  },
  async createGroup(kit) {
    const volumes = [await makeVolume(kit), await makeVolume(kit)];
    const groupId = kit.id();
    return {
      operation: 'createGroup',
      input: { groupId, body: { name: nameOf(groupId), volumeIds: volumes.map(({ id }) => id) } },
      async verify() {
        const { snapshots } = await untilReady(kit, () => kit.done('getGroup', { groupId }));
        expect(snapshots.length === volumes.length, 'the group has one snapshot of each volume');
        for (const { id } of snapshots) await expectOnce(kit, 'listSnapshots', id);
      },
    };
  },
  async deleteGroup(kit) {
    const { id: groupId } = await makeGroup(kit, [await makeVolume(kit), await makeVolume(kit)]);
    return {
      operation: 'deleteGroup',
      input: { groupId },
      verify: () => kit.refused('getGroup', { groupId }, ['NOT_FOUND']),
    };
  },
} satisfies Readonly<Partial<Record<OperationId, Prepare>>>;

/** The operations that change something. */
export type MutationId = keyof typeof mutations;

/** Those that the vendor offers, and that can be asked for here. */
export function offeredMutations(kit: Kit): readonly MutationId[] {
  const needed = {
    expandVolume: 'expand',
    modifyVolume: 'modify',
    createSnapshot: 'snapshots',
    deleteSnapshot: 'snapshots',
    createGroup: 'groups',
    deleteGroup: 'groups',
  } as const;
  const features: Readonly<Partial<Record<MutationId, (typeof needed)[keyof typeof needed]>>> = needed;
  const isOffered = (id: MutationId): boolean => features[id] === undefined || kit.has(features[id]);
  const isKnown = (id: MutationId): boolean => id !== 'modifyVolume' || canModify(kit);
  return (Object.keys(mutations) as MutationId[]).filter(id => isOffered(id) && isKnown(id));
}

/** The same call again, as a caller does that does not know what came of it; then what it leaves is looked at. */
export async function repeat(kit: Kit, { operation, input, verify }: Mutation): Promise<void> {
  await kit.done(operation, input as never);
  await verify();
}

function canModify(kit: Kit): boolean {
  try {
    return mutableOf(kit).name !== '';
  } catch {
    return false;
  }
}

async function expectOnce(kit: Kit, list: 'listVolumes' | 'listSnapshots', id: string): Promise<void> {
  const { length } = (await listAll(kit, list)).filter(one => one.id === id);
  expect(length === 1, `"${id}" is in the list once, not ${length} times`);
}
