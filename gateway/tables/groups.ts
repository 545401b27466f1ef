import type { Group } from '../../src/api/snapshot.ts';
import { integer, json, table, text, type RecordOf } from './table.ts';

const columns = {
  id: text(),
  cluster: text(),
  name: text(),
  pool: text(),
  state: text<Group['state']>(),
  parameters: json<Readonly<Record<string, string>>>(),
  /** The time of the snapshots; until they are taken, the time of the request. */
  createdAtMs: integer(),
};

export type GroupRecord = RecordOf<typeof columns>;

export const groupTable = table('snapshot_groups', {
  key: ['id'],
  columns,
  indexes: [`snapshot_groups_unfinished on snapshot_groups (id) where state <> 'ready'`],
});
