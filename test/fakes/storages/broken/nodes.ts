import { copyFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { snapshotNamed, volumeNamed } from '../../../../examples/vendor-hono/disk.ts';
import { openRecord } from '../features/groups-and-nodes.ts';
import { lateMs, type Breakage, type Operation } from '../breakage.ts';

/** Time until a change is durable, in milliseconds. */
const durableMs = 400;

/** Faults of groups of snapshots, and of nodes that are recorded. */
export const nodes = {
  'group-one-by-one': {
    wrong: 'the snapshots of a group are taken one after the other while nodes write',
    caughtBy: 'FL-9.2-4',
    needs: 'data',
    hasGroupsAndNodes: true,
    operations: (right, disk) => ({
      async createGroup(asked) {
        const all = asked.body.volumeIds.map(id => disk.require(volumeNamed(id)));
        for (const volume of all) disk.put({ ...volume, attached: undefined });
        try {
          const answer = await right.createGroup(asked);
          if (answer[0] !== 201) return answer;
          for (const [index, volume] of all.entries()) {
            await setTimeout(20);
            copyFileSync(disk.pathOf(volume), disk.pathOf(snapshotNamed(`${asked.groupId}.${index}`)));
          }
          return answer;
        } finally {
          for (const volume of all) disk.put(volume);
        }
      },
    }),
  },
  'group-grows': {
    wrong: 'a group with more volumes under the same URL returns the existing group',
    caughtBy: 'FL-5.4-2',
    hasGroupsAndNodes: true,
    operations: right => ({
      async createGroup(asked) {
        const found = await attempt(() => right.getGroup(asked));
        const known = found?.[1].snapshots.map(({ volumeId }) => volumeId) ?? [];
        const isMore = known.length > 0 && known.every(id => asked.body.volumeIds.includes(id));
        return isMore && found ? found : right.createGroup(asked);
      },
    }),
  },
  'node-remembered': {
    wrong: 'a volume can be attached to a node that was deleted',
    caughtBy: 'FL-4.4-1',
    hasGroupsAndNodes: true,
    operations: right => {
      const seen = new Set<string>();
      return {
        attachVolume(asked) {
          if (seen.has(asked.nodeId)) right.putNode({ nodeId: asked.nodeId, body: {} });
          return right.attachVolume(asked);
        },
        putNode(asked) {
          seen.add(asked.nodeId);
          return right.putNode(asked);
        },
      };
    },
  },
  'node-delete-prefix': {
    wrong: 'deleting a node deletes all nodes whose ids begin with its id',
    caughtBy: 'FL-4.4-2',
    hasGroupsAndNodes: true,
    operations: (right, disk) => {
      const recorded = openRecord<true>(disk, 'recorded');
      return {
        putNode(asked) {
          recorded.put(asked.nodeId, true);
          return right.putNode(asked);
        },
        deleteNode(asked) {
          const answer = right.deleteNode(asked);
          for (const nodeId of recorded.ids())
            if (nodeId.startsWith(asked.nodeId)) right.deleteNode({ ...asked, nodeId });
          return answer;
        },
      };
    },
  },
  'node-delete-frees': {
    wrong: 'a node with a volume is deleted, and the volume stays attached',
    caughtBy: 'FL-4.4-2',
    hasGroupsAndNodes: true,
    operations: () => ({ deleteNode: () => [204] }),
  },
  'node-delete-late': {
    wrong: 'a second effect of deleting a node deletes the next node with the id',
    caughtBy: 'FL-8.4-3',
    hasGroupsAndNodes: true,
    operations: right => ({
      deleteNode(asked) {
        const answer = right.deleteNode(asked);
        void setTimeout(lateMs).then(() => attempt(() => right.deleteNode(asked)));
        return answer;
      },
    }),
  },
  'group-delete-late': {
    wrong: 'a second effect of deleting a group deletes the next group with the id',
    caughtBy: 'FL-8.4-3',
    hasGroupsAndNodes: true,
    operations: right => {
      const deleted = new Set<string>();
      return {
        deleteGroup(asked) {
          deleted.add(asked.groupId);
          return right.deleteGroup(asked);
        },
        async createGroup(asked) {
          const answer = await right.createGroup(asked);
          if (deleted.delete(asked.groupId))
            void setTimeout(lateMs).then(() => attempt(() => right.deleteGroup(asked)));
          return answer;
        },
      };
    },
  },
  'last-node': losing('putNode', 'deleteNode'),
  'last-node-delete': losing('deleteNode', 'putNode'),
  'last-group': losing('createGroup', 'deleteGroup'),
} as const satisfies Readonly<Record<string, Breakage>>;

/** Makes a vendor whose changes by one operation are durable some time after their answers; `undoing` undoes them. */
function losing(
  operation: 'putNode' | 'deleteNode' | 'createGroup',
  undoing: 'putNode' | 'deleteNode' | 'deleteGroup',
): Breakage {
  return {
    wrong: `${operation} answers before its change is durable`,
    caughtBy: 'FL-8.3-4',
    needs: 'restart',
    hasGroupsAndNodes: true,
    operations(right, disk) {
      const open = openRecord<object>(disk, `last-${operation}`);
      const [run, undo] = [right[operation], right[undoing]] as unknown as readonly Operation<'putNode'>[];
      for (const id of open.ids()) {
        void attempt(() => undo?.(open.find(id) as never));
        open.remove(id);
      }
      const change: Operation<'putNode'> = async asked => {
        const answer = (await run?.(asked)) ?? [204];
        const key = JSON.stringify(asked);
        open.put(key, asked);
        void setTimeout(durableMs).then(() => open.remove(key));
        return answer;
      };
      return { [operation]: change };
    },
  };
}

async function attempt<T>(work: () => T): Promise<T | undefined> {
  try {
    return work();
  } catch {
    return undefined;
  }
}
