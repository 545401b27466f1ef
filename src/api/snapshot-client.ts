import { ask, remove, withQuery, type PageRequest } from './ask.ts';
import type { Call } from './call.ts';
import type { Http } from './http.ts';
import { paths } from './routes.ts';
import {
  blockPageSchema,
  groupSchema,
  snapshotPageSchema,
  snapshotSchema,
  type BlockPage,
  type Group,
  type GroupSpec,
  type Snapshot,
  type SnapshotPage,
  type SnapshotSpec,
} from './snapshot-resources.ts';

/** The part of the Storage API that is about snapshots. */
export interface SnapshotCalls {
  /** Returns once the snapshot is cut; while it is processing, the same call later tells how it goes on. */
  createSnapshot(snapshotId: string, spec: SnapshotSpec, call: Call): Promise<Snapshot>;
  getSnapshot(snapshotId: string, call: Call): Promise<Snapshot>;
  /** Those that are cut, of one volume or of all. */
  listSnapshots(page: PageRequest & { readonly volumeId?: string }, call: Call): Promise<SnapshotPage>;
  deleteSnapshot(snapshotId: string, call: Call): Promise<void>;
  createGroup(groupId: string, spec: GroupSpec, call: Call): Promise<Group>;
  getGroup(groupId: string, call: Call): Promise<Group>;
  /** Deletes the group with all its snapshots. */
  deleteGroup(groupId: string, call: Call): Promise<void>;
  /** The blocks that hold data, or with `base` those that differ from that snapshot. */
  getBlocks(snapshotId: string, range: BlockRange, call: Call): Promise<BlockPage>;
}

/** Blocks from the first that ends after `offset`, at most `limit` stretches of them. */
export type BlockRange = {
  readonly base?: string | undefined;
  readonly offset: number;
  readonly limit?: number;
};

/** Makes the calls over an HTTP connection. */
export function createSnapshotCalls(http: Http): SnapshotCalls {
  return {
    createSnapshot: async (id, body, call) =>
      ask(http, { method: 'PUT', path: paths.snapshot(id), body, answer: snapshotSchema }, call),
    getSnapshot: async (id, call) =>
      ask(http, { method: 'GET', path: paths.snapshot(id), answer: snapshotSchema }, call),
    listSnapshots: async (page, call) =>
      ask(http, { method: 'GET', path: withQuery(paths.snapshots, page), answer: snapshotPageSchema }, call),
    deleteSnapshot: async (id, call) => remove(http, () => paths.snapshot(id), call),
    createGroup: async (id, body, call) =>
      ask(http, { method: 'PUT', path: paths.group(id), body, answer: groupSchema }, call),
    getGroup: async (id, call) =>
      ask(http, { method: 'GET', path: paths.group(id), answer: groupSchema }, call),
    deleteGroup: async (id, call) => remove(http, () => paths.group(id), call),
    getBlocks: async (id, range, call) =>
      ask(http, { method: 'GET', path: withQuery(paths.blocks(id), range), answer: blockPageSchema }, call),
  };
}
