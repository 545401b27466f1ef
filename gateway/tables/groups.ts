import type { Group } from '../../src/api/snapshot.ts';
import { integer, json, table, text } from './table.ts';

/** A group of snapshots as it is recorded; its members are snapshots. */
export type GroupRecord = {
  readonly id: string;
  readonly cluster: string;
  readonly name: string;
  /** The pool of its volumes, and so of its members. */
  readonly pool: string;
  readonly state: Group['state'];
  readonly parameters: Readonly<Record<string, string>>;
  /** When it was taken; before that, when it was asked for. */
  readonly createdAtMs: number;
};

/** All groups. */
export const groupTable = table<GroupRecord, 'id'>('snapshot_groups', {
  key: ['id'],
  columns: {
    id: text('id'),
    cluster: text('cluster'),
    name: text('name'),
    pool: text('pool'),
    state: text('state'),
    parameters: json('parameters'),
    createdAtMs: integer('created_at'),
  },
});
