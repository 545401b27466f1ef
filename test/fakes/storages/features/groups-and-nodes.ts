import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { createAttachments } from '../../../../examples/vendor-hono/attachments.ts';
import { volumeNamed, type Disk } from '../../../../examples/vendor-hono/disk.ts';
import type { createSnapshots } from '../../../../examples/vendor-hono/snapshots.ts';
import type { createVolumes } from '../../../../examples/vendor-hono/volumes.ts';
import { Problem, type Answer } from '../../../../src/sdk/server/vendor.ts';
import type { Snapshot, VendorOperations } from '../../../../src/sdk/server/vendor.ts';

type Members = readonly string[];

/** The reference vendor's correct operations. */
export type BasicOperations = ReturnType<typeof createVolumes> &
  ReturnType<typeof createAttachments> &
  ReturnType<typeof createSnapshots> & { readonly getCapabilities: () => Answer<'getCapabilities'> };

/** Adds groups of snapshots and the recording of nodes to the reference vendor's operations. */
export function withGroupsAndNodes(right: BasicOperations, disk: Disk) {
  const groups = openRecord<{ readonly name: string; readonly volumeIds: Members }>(disk, 'groups');
  const nodes = openRecord<true>(disk, 'nodes');

  const groupOf = (snapshotId: string): { readonly groupId?: string } => {
    const groupId = snapshotId.slice(0, snapshotId.lastIndexOf('.'));
    const index = Number(snapshotId.slice(groupId.length + 1));
    return index < (groups.find(groupId)?.volumeIds.length ?? 0) ? { groupId } : {};
  };
  const show = <S extends Snapshot>(snapshot: S) => ({ ...snapshot, ...groupOf(snapshot.id) });

  function showGroup(groupId: string) {
    const group = groups.find(groupId);
    if (!group) throw new Problem('NOT_FOUND', `there is no group "${groupId}"`);
    const snapshots = group.volumeIds.map((_, index) =>
      show(right.getSnapshot({ snapshotId: memberId(groupId, index) })[1]),
    );
    const createdAt = snapshots[0]?.createdAt ?? '';
    return { id: groupId, name: group.name, state: 'ready' as const, snapshots, createdAt };
  }

  return {
    ...right,
    listSnapshots(asked) {
      const [status, { snapshots, ...more }] = right.listSnapshots(asked);
      return [status, { ...more, snapshots: snapshots.map(show) }];
    },
    getSnapshot(asked) {
      const [status, snapshot] = right.getSnapshot(asked);
      return [status, show(snapshot)];
    },
    deleteSnapshot(asked) {
      if (groupOf(asked.snapshotId).groupId)
        throw new Problem('FAILED_PRECONDITION', 'the snapshot belongs to a group');
      return right.deleteSnapshot(asked);
    },
    async createGroup({ groupId, body: { name, volumeIds } }) {
      const found = groups.find(groupId);
      if (found && (found.name !== name || String(found.volumeIds) !== String(volumeIds)))
        throw new Problem('ALREADY_EXISTS', `group "${groupId}" exists with other settings`);
      if (found) return [200, showGroup(groupId)];
      for (const id of volumeIds) disk.require(volumeNamed(id));
      for (const [index, volumeId] of volumeIds.entries()) {
        await right.createSnapshot({ snapshotId: memberId(groupId, index), body: { name, volumeId } });
      }
      groups.put(groupId, { name, volumeIds });
      return [201, showGroup(groupId)];
    },
    getGroup: ({ groupId }) => [200, showGroup(groupId)],
    deleteGroup({ groupId }) {
      const members = groups.find(groupId)?.volumeIds ?? [];
      groups.remove(groupId);
      for (const index of members.keys()) right.deleteSnapshot({ snapshotId: memberId(groupId, index) });
      return [204];
    },
    putNode({ nodeId }) {
      nodes.put(nodeId, true);
      return [200, { id: nodeId }];
    },
    deleteNode({ nodeId }) {
      if (disk.list('volume').some(({ attached }) => attached?.resource.nodeId === nodeId))
        throw new Problem('FAILED_PRECONDITION', `node "${nodeId}" has a volume`);
      nodes.remove(nodeId);
      return [204];
    },
    attachVolume(asked) {
      disk.require(volumeNamed(asked.volumeId));
      if (!nodes.find(asked.nodeId)) throw new Problem('NOT_FOUND', `there is no node "${asked.nodeId}"`);
      return right.attachVolume(asked);
    },
  } satisfies VendorOperations;
}

/** Returns the id of a group's snapshot. */
function memberId(groupId: string, index: number): string {
  return `${groupId}.${index}`;
}

/** Opens entries by id that are kept in a file of the disk. Every change is on the disk when its function returns. */
export function openRecord<T>(disk: Disk, name: string) {
  const path = join(dirname(dirname(disk.pathOf(volumeNamed('any')))), `${name}.json`);
  const entries = new Map<string, T>(existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : []);
  const write = (): void => writeFileSync(path, JSON.stringify([...entries]));
  return {
    find: (id: string) => entries.get(id),
    ids: () => [...entries.keys()],
    put(id: string, value: T): void {
      entries.set(id, value);
      write();
    },
    remove(id: string): void {
      if (entries.delete(id)) write();
    },
  };
}
