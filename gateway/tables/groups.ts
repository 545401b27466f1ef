import type { Group } from '../../src/api/snapshot.ts';
import { integer, json, table, text, type RecordOf } from './table.ts';

const columns = {
  id: text(),
  cluster: text(),
  name: text(),
  /** The pool of its volumes, and so of its members. */
  pool: text(),
  state: text<Group['state']>(),
  parameters: json<Readonly<Record<string, string>>>(),
  /** When it was taken; before that, when it was asked for. */
  createdAtMs: integer(),
};

/** A group of snapshots as it is recorded; its members are snapshots. */
export type GroupRecord = RecordOf<typeof columns>;

/** All groups. */
export const groupTable = table('snapshot_groups', {
  key: ['id'],
  columns,
  indexes: [`snapshot_groups_unfinished on snapshot_groups (id) where state <> 'ready'`],
});
