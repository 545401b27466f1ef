import type { AdminNode, AdminSnapshot, AdminVolume, Finding, PoolState } from '../../../src/api/admin.ts';
import { readNodeId } from '../../../src/api/ids.ts';
import { check, repair } from '../../../src/cli/actions/check.ts';
import { drain } from '../../../src/cli/actions/drain.ts';
import { detachNode } from '../../../src/cli/actions/nodes.ts';
import { deleteGroup, deleteSnapshot } from '../../../src/cli/actions/snapshots.ts';
import { deleteVolume, detach, restore } from '../../../src/cli/actions/volumes.ts';
import type { Entry } from '../../../src/cli/kind.ts';
import type { KindName } from '../../../src/cli/kinds/index.ts';
import { copying, granting, importing, revoking, transferring } from './actions/sharing.ts';
import { call, client } from './gateway.ts';
import type { OfferedAction } from './parts/act.tsx';

const anyNode = 'Also from nodes that still run: their pods get I/O errors';

/** The choices for the minimum age of a volume or snapshot that a repair removes, in milliseconds. */
const safetyAges: Readonly<Record<string, number>> = {
  'an hour': 3_600_000,
  'a minute': 60_000,
  'any time': 0,
};

/** The actions that an operator can take on an entry of each kind. */
const actions: { readonly [Name in KindName]?: (entry: never) => readonly OfferedAction[] } = {
  volumes: (volume: AdminVolume) => {
    const { id, state, attachments, grants = [], copyGrants = [] } = volume;
    if (state === 'deleted')
      return [
        {
          title: `Restore volume ${id}`,
          run: ({ isDry }) => restore(client, call(), { volumeId: id, isDry }),
        },
      ];
    const detaching: OfferedAction = {
      title: `Detach volume ${id}`,
      run: ({ isDry, force }) => detach(client, call(), { volumeId: id, isDry, force }),
      force: anyNode,
    };
    const deleting: OfferedAction = {
      title: `Delete volume ${id}`,
      run: ({ isDry }) => deleteVolume(client, call(), { volumeId: id, isDry }),
      typed: id,
    };
    return [
      ...(attachments.length > 0 ? [detaching] : []),
      granting(volume),
      ...(grants.length + copyGrants.length > 0 ? [revoking(volume)] : []),
      transferring(volume),
      deleting,
    ];
  },
  snapshots: (snapshot: AdminSnapshot) => {
    const { id, groupId } = snapshot;
    const deleting: OfferedAction =
      groupId === undefined
        ? {
            title: `Delete snapshot ${id}`,
            run: ({ isDry }) => deleteSnapshot(client, call(), { snapshotId: id, isDry }),
            typed: id,
          }
        : {
            title: `Delete group ${groupId}`,
            run: ({ isDry }) => deleteGroup(client, call(), { groupId, isDry }),
            typed: groupId,
          };
    return [...copying(snapshot), deleting];
  },
  nodes: ({ cluster, nodeId, volumes }: AdminNode) =>
    volumes === 0
      ? []
      : [
          {
            title: `Detach all volumes of node ${readNodeId(nodeId).name}`,
            run: ({ isDry, force }) => detachNode(client, call(), { cluster, nodeId, isDry, force }),
            force: anyNode,
            typed: readNodeId(nodeId).name,
          },
        ],
  pools: ({ id, drainedSince }: PoolState) => [
    {
      title: drainedSince === undefined ? `Drain pool ${id}` : `Undrain pool ${id}`,
      run: ({ isDry }) => drain(client, call(), { pool: id, end: drainedSince !== undefined, isDry }),
    },
    importing(id),
    {
      title: 'Check all pools against the store',
      run: async ({ isDry }) =>
        isDry
          ? { data: {}, table: 'would compare the storage of all pools with the store; this changes nothing' }
          : check(client, call(), { isDry }),
    },
    {
      title: 'Repair the differences of all pools to the store',
      fields: [
        {
          name: 'age',
          label: 'Remove differences that checks have found for at least',
          options: Object.keys(safetyAges),
          initial: 'an hour',
        },
      ],
      run: ({ isDry, values: { age = '' } }) =>
        repair(client, call(), { isDry, safetyAgeMs: safetyAges[age] }),
      typed: 'repair',
    },
  ],
};

/** Returns the actions that an operator can take on this entry. */
export function actionsOf(name: KindName, entry: Entry): readonly OfferedAction[] {
  const find = actions[name] as ((one: Entry) => readonly OfferedAction[]) | undefined;
  return find?.(entry) ?? [];
}

/** Returns the actions that mend a difference between the storage and the store. */
export function actionsOn({ problem, kind, id, pool }: Finding): readonly OfferedAction[] {
  return problem === 'unknown' && kind === 'volume' ? [importing(pool, id)] : [];
}
